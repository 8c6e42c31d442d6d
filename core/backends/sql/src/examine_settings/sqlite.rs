//! The settings of a `SQLite` file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use leasehold_core::check::Finding;
use sqlx::{Row, SqliteConnection, raw_sql};

use super::{EXCLUSION, LIVENESS, LOST_DATA, Settings};
use crate::connection::sqlite_file_aliases;

const SETTINGS: &str = "SELECT 'version', sqlite_version() \
     UNION ALL SELECT 'journal_mode', journal_mode FROM pragma_journal_mode \
     UNION ALL SELECT 'synchronous', CAST(synchronous AS TEXT) FROM pragma_synchronous \
     UNION ALL SELECT 'locking_mode', locking_mode FROM pragma_locking_mode \
     UNION ALL SELECT 'busy_timeout', CAST(timeout AS TEXT) FROM pragma_busy_timeout \
     UNION ALL SELECT 'file', file FROM pragma_database_list WHERE name = 'main'";

/// The file systems of other machines. Their file locks do not exclude processes on several machines reliably, and the
/// log needs memory that processes share.
const REMOTE: [&str; 7] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "vboxsf"];

pub(crate) async fn examine(
    connection: &mut SqliteConnection,
) -> Result<Vec<Finding>, sqlx::Error> {
    let rows = raw_sql(SETTINGS).fetch_all(connection).await?;
    let pairs = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let pairs: HashMap<String, String> = pairs.collect::<Result<_, sqlx::Error>>()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    Ok(of_settings(&Settings(pairs), &mounts))
}

fn of_settings(settings: &Settings, mounts: &str) -> Vec<Finding> {
    let file = Path::new(settings.get("file"));
    vec![
        Finding::good(
            "version",
            LIVENESS,
            format!("SQLite {}", settings.get("version")),
        ),
        file_system(sqlite_file_aliases::file_system(mounts, file)),
        names(file),
        journal(settings.get("journal_mode")),
        durability(settings.get("synchronous")),
        locking(settings.get("locking_mode")),
        busy_timeout(settings.number("busy_timeout")),
    ]
}

fn file_system(kind: Option<&str>) -> Finding {
    match kind {
        Some(kind) if REMOTE.contains(&kind) || kind.starts_with("fuse") => Finding::failure(
            "file system",
            EXCLUSION,
            format!("`{kind}`, whose file locks do not exclude other machines reliably"),
            "use a file on a local disk, or a database server",
        ),
        Some(kind) => Finding::good("file system", EXCLUSION, format!("`{kind}`")),
        None => Finding::good("file system", EXCLUSION, "not known on this system"),
    }
}

fn names(file: &Path) -> Finding {
    match sqlite_file_aliases::has_others(file) {
        true => Finding::failure(
            "names of the file",
            EXCLUSION,
            "several: processes that use different names do not see each other's locks",
            "remove the hard link, or mount the folder instead of the file",
        ),
        false => Finding::good("names of the file", EXCLUSION, "one"),
    }
}

fn journal(mode: &str) -> Finding {
    let found = format!("`{mode}`");
    match mode {
        "wal" => Finding::good("journal", LIVENESS, found),
        "off" | "memory" => Finding::failure(
            "journal",
            LOST_DATA,
            found,
            "a crash damages the file: PRAGMA journal_mode = WAL",
        ),
        _ => Finding::warning(
            "journal",
            LIVENESS,
            found,
            "a write waits for all readers: PRAGMA journal_mode = WAL",
        ),
    }
}

fn durability(synchronous: &str) -> Finding {
    match synchronous {
        "0" => Finding::warning(
            "durability",
            LOST_DATA,
            "synchronous is OFF, so a power failure can damage the file",
            "PRAGMA synchronous = NORMAL",
        ),
        _ => Finding::good(
            "durability",
            LOST_DATA,
            "a power failure does not damage the file",
        ),
    }
}

fn locking(mode: &str) -> Finding {
    match mode {
        "exclusive" => Finding::failure(
            "locking mode",
            LIVENESS,
            "exclusive: other processes cannot open the file",
            "PRAGMA locking_mode = NORMAL",
        ),
        _ => Finding::good("locking mode", LIVENESS, "normal"),
    }
}

fn busy_timeout(millis: u64) -> Finding {
    let found = format!("{millis} ms");
    match millis {
        0 => Finding::warning(
            "busy timeout",
            LIVENESS,
            found,
            "operations fail while another process writes: set a busy timeout of a second",
        ),
        _ => Finding::good("busy timeout", LIVENESS, found),
    }
}

#[cfg(test)]
mod tests {
    use leasehold_core::check::Verdict;

    use super::*;

    #[test]
    fn file_system_of_another_machine_is_a_failure() {
        for kind in ["nfs4", "cifs", "fuse.sshfs"] {
            assert_eq!(file_system(Some(kind)).verdict, Verdict::Failure, "{kind}");
        }
        assert_eq!(file_system(Some("ext4")).verdict, Verdict::Good);
    }
}
