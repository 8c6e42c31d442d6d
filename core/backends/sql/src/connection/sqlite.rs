//! Connects to a `SQLite` file.

use std::str::FromStr;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqliteConnection};

use super::{Connect, sqlite_file_aliases};
use crate::catalog::Answer;

/// How long a statement waits for the file's write lock. This is less than the default command timeout. So if another
/// process keeps the write lock, an operation fails with a known outcome.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

const IN_MEMORY: &str = "other processes cannot see a database in memory: name a file, as in sqlite:locks.db, or use \
     LockManager::in_process() for the locks of one process";

const NO_WAL: &str = "SQLite does not support a write-ahead log (WAL) here: name a file on a local disk, as in \
     sqlite:locks.db";

const OTHER_NAME: &str = "has a hard link, or is mounted alone into a container, so it has two names. Processes that \
     use different names do not see each other's locks: remove the hard link, which `find / -samefile` finds, or mount \
     the folder instead of the file";

impl Connect for Sqlite {
    // Only one connection of all processes can write at a time.
    const CONNECTIONS: u32 = 4;

    fn options(url: &str) -> Result<SqliteConnectOptions, sqlx::Error> {
        let options = SqliteConnectOptions::from_str(url)?
            // A power failure can lose the last commits, but not damage the file. No holder survives the failure, because
            // all holders are on this machine.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT);
        // Before a connection creates the log.
        if sqlite_file_aliases::has_others(options.get_filename()) {
            let file = options.get_filename().display();
            let refused = format!("the file `{file}` {OTHER_NAME}");
            return Err(sqlx::Error::Configuration(refused.into()));
        }
        let (_, parameters) = url.split_once('?').unwrap_or_default();
        Ok(match parameters.contains("mode=") {
            true => options,
            false => options.create_if_missing(true),
        })
    }

    fn address(options: &SqliteConnectOptions) -> String {
        options.get_filename().display().to_string()
    }

    /// Sets the journal mode, which the file keeps. The statement does not wait for other processes.
    fn set_up(connection: &mut SqliteConnection) -> Answer<'_, Option<&'static str>> {
        Box::pin(async move {
            let set = sqlx::query_scalar("PRAGMA journal_mode = WAL");
            let mode: String = set.fetch_one(connection).await?;
            Ok(match mode.as_str() {
                "wal" => None,
                "memory" => Some(IN_MEMORY),
                _ => Some(NO_WAL),
            })
        })
    }
}
