//! The conformance suite on a `SQLite` file, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leasehold::Key;
use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend};
use leasehold::conformance::Faulty;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, query, query_scalar};
use tempfile::TempDir;

use super::waiters::take;

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

/// Without a write-ahead log, a statement can fail at its commit, after it has returned its row.
#[tokio::test]
async fn an_attempt_whose_commit_fails_does_not_acquire() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("locks.db"))
        .create_if_missing(true)
        .busy_timeout(Duration::from_millis(50))
        .journal_mode(SqliteJournalMode::Delete);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let (backend, key) = (SqlBackend::new(pool.clone()), Key::new("", "k").unwrap());
    // The backend must know the clock of the database to acquire in one statement.
    assert!(backend.inspect(&key).await.unwrap().is_free());

    let mut reader = pool.begin().await.unwrap();
    let rows = query("SELECT * FROM leasehold_locks");
    rows.fetch_all(&mut *reader).await.unwrap();
    let attempt = Attempt::new(key.clone(), Duration::from_secs(30), false);
    let refused = backend.attempt(&attempt).await.unwrap_err();
    assert_eq!(refused.applied(), Applied::No, "{refused}");
    assert!(refused.is_temporary(), "{refused}");
    reader.rollback().await.unwrap();
    assert!(backend.inspect(&key).await.unwrap().is_free());

    let answer = backend.attempt(&attempt).await.unwrap();
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
}

/// The clock shows whole milliseconds, so a lease may begin almost a millisecond after the time that the clock shows.
#[tokio::test]
async fn no_lease_ends_before_its_ttl_has_passed() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!(
        "sqlite:{}?mode=rwc",
        folder.path().join("locks.db").display()
    );
    let pool = SqlitePool::connect(&url).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let ttl = Duration::from_secs(30);
    let lasts = async |begin: Duration, key: &Key, what: &str| {
        let read = query_scalar("SELECT expires_at FROM leasehold_locks WHERE lock_key = $1");
        let expires_at: i64 = read.bind(key.full()).fetch_one(&pool).await.unwrap();
        let least = i64::try_from((begin + ttl).as_micros()).unwrap();
        assert!(
            expires_at >= least,
            "{what}: {} us too early",
            least - expires_at
        );
    };
    let time_of_day = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    for round in 0..20 {
        // A backend that does not know the database's clock yet reads the row first.
        let backend = SqlBackend::new(pool.clone());
        for what in ["read first", "in one statement"] {
            let key = Key::new("", &format!("{round} {what}")).unwrap();
            let attempt = Attempt::new(key.clone(), ttl, false);
            let begin = time_of_day();
            let claim = take(&backend, &attempt).await;
            lasts(begin, &key, what).await;
            let begin = time_of_day();
            backend.renew(&[claim]).await.remove(0).unwrap();
            lasts(begin, &key, "renewed").await;
        }
    }
}
