//! Commands whose processes write records as long as they live.
//!
//! Each process appends its token and its id to one file. The system orders these writes, so no clock is needed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leasehold_testkit::processes::ChildBuilder;
use tempfile::TempDir;

use crate::program::until;

const FILE: &str = "LEASEHOLD_TEST_RECORDS";
const RECORD: usize = 32;
const BETWEEN: Duration = Duration::from_millis(3);

/// No process outlives a failed test for long.
const LONGEST: Duration = Duration::from_secs(300);

/// This test binary is also the program of the processes. Without the variable, this test does nothing.
#[test]
fn writer_process_appends_records_if_the_variable_is_set() {
    let Ok(path) = std::env::var(FILE) else {
        return;
    };
    let token = std::env::var("LEASEHOLD_TOKEN").unwrap();
    // All records have the same length, which divides a page. So the system never writes a part of a record.
    let record = format!("{token:>19} {:>11}\n", std::process::id());
    assert_eq!(record.len(), RECORD);
    let mut file = File::options().append(true).open(path).unwrap();
    let begin = Instant::now();
    while begin.elapsed() < LONGEST {
        file.write_all(record.as_bytes()).unwrap();
        std::thread::sleep(BETWEEN);
    }
}

/// How a command and its grandchild behave.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Behaviour {
    /// Both ignore SIGTERM.
    pub(crate) ignores_term: bool,
    /// The grandchild is an orphan, with its own session.
    pub(crate) is_detached: bool,
    /// The command ends immediately, with the exit code 3.
    pub(crate) leaves: bool,
}

/// The records of all processes of one key.
#[derive(Debug)]
pub(crate) struct Records {
    _folder: TempDir,
    path: PathBuf,
}

impl Records {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        File::create(&path).unwrap();
        Self {
            _folder: folder,
            path,
        }
    }

    /// Adds a command that starts a grandchild; both write records.
    pub(crate) fn command(&self, run: ChildBuilder, behaviour: Behaviour) -> ChildBuilder {
        let ignore = if behaviour.ignores_term {
            "trap '' TERM;"
        } else {
            ""
        };
        let grandchild = match behaviour.is_detached {
            true => r#"(setsid "$0" "$@" &);"#,
            false => r#""$0" "$@" &"#,
        };
        let end = if behaviour.leaves {
            "exit 3"
        } else {
            r#"exec "$0" "$@""#
        };
        let script = format!("{ignore} {grandchild} {end}");
        let this = std::env::current_exe().unwrap();
        let test = "writer::writer_process_appends_records_if_the_variable_is_set";
        run.env(FILE, &self.path)
            .args(["sh", "-c", &script])
            .arg(this)
            .args(["--exact", test, "--nocapture"])
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the token and the process of each record.
    pub(crate) fn read(&self) -> Vec<(u64, u32)> {
        let text = fs::read_to_string(&self.path).unwrap();
        let mut records = Vec::new();
        for record in text.lines() {
            let (token, pid) = record.trim().split_once(' ').unwrap();
            records.push((token.parse().unwrap(), pid.trim().parse().unwrap()));
        }
        records
    }

    /// Returns the processes that have written records with a token larger than `token`.
    pub(crate) fn writers_after(&self, token: u64) -> Vec<u32> {
        let records = self.read().into_iter().filter(|it| it.0 > token);
        let mut writers: Vec<u32> = records.map(|it| it.1).collect();
        writers.sort_unstable();
        writers.dedup();
        writers
    }

    /// Waits until `number` processes have written records with a token larger than `token`. Returns the last token.
    pub(crate) async fn until_writers(&self, number: usize, token: u64) -> u64 {
        let what = format!("{number} writers after {token} in {}", self.path.display());
        until(&what, || self.writers_after(token).len() >= number).await;
        self.read().into_iter().map(|it| it.0).max().unwrap()
    }

    /// Returns the number of records after the first record of a later token.
    pub(crate) fn violations(&self) -> usize {
        let mut last = 0;
        let late = self.read().into_iter().filter(|(token, _)| {
            last = last.max(*token);
            *token < last
        });
        late.count()
    }
}
