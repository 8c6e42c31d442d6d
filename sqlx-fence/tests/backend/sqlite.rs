//! The conformance suite on a `SQLite` file, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use std::path::PathBuf;

use leasehold::conformance::Faulty;
use leasehold_sqlx::{SqlBackend, ddl};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool};
use tempfile::TempDir;

/// A database in a new file, which is deleted with its folder.
pub(crate) struct LockFile {
    folder: TempDir,
    pub(crate) pool: SqlitePool,
}

impl LockFile {
    pub(crate) async fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("locks.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // Leases of 300 ms do not last while a busy machine syncs each change to its disk.
            .synchronous(SqliteSynchronous::Normal);
        let pool = SqlitePoolOptions::new().max_connections(5);
        let pool = pool.connect_with(options).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        Self { folder, pool }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("locks.db")
    }

    fn backend(&self) -> SqlBackend<Sqlite> {
        SqlBackend::new(self.pool.clone())
    }
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let file = LockFile::create().await;
            async move || file.backend()
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let file = LockFile::create().await;
            async move || Faulty::sluggish(file.backend(), 1)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        behaviour, election, hold_at_least, once, sharing => {
            let file = LockFile::create().await;
            async move || Faulty::lossy(file.backend(), 2)
        }
    }
}
