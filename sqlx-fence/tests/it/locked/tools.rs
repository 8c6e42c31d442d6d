//! Databases with a table of items. A trigger copies each change of an item into the table `audit`.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use leasehold::{EndReason, LockGuard, LockManager};
use leasehold_sqlx::{Error, Isolation, LockDatabase, SqlBackend, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, MySqlPool, PgPool, Pool, SqlSafeStr, SqlStr, SqlitePool};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// Longer than any step of these tests.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// Long enough for a call to block, if it blocks.
pub(crate) const SHORT: Duration = Duration::from_millis(200);
pub(crate) const TTL: Duration = Duration::from_secs(30);

pub(crate) const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

const TABLES: &str = "CREATE TABLE items (id VARCHAR(99) PRIMARY KEY, amount BIGINT NOT NULL); \
     CREATE TABLE audit (id VARCHAR(99) NOT NULL, amount BIGINT NOT NULL); ";
const POSTGRES: &str = "CREATE FUNCTION copy_item() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     INSERT INTO audit VALUES (NEW.id, NEW.amount); RETURN NEW; END $$; \
     CREATE TRIGGER copy_item AFTER UPDATE ON items FOR EACH ROW EXECUTE FUNCTION copy_item()";
const MARIADB: &str = "CREATE TRIGGER copy_item AFTER UPDATE ON items FOR EACH ROW \
     INSERT INTO audit VALUES (NEW.id, NEW.amount)";
const SQLITE: &str = "CREATE TRIGGER copy_item AFTER UPDATE ON items BEGIN \
     INSERT INTO audit VALUES (NEW.id, NEW.amount); END";

pub(crate) fn sql(text: impl Into<String>) -> SqlStr {
    AssertSqlSafe(text.into()).into_sql_str()
}

/// Returns the server that all tests of this process share.
pub(crate) async fn postgres_server() -> &'static PostgresServer {
    static SERVER: OnceCell<PostgresServer> = OnceCell::const_new();
    let start = async || {
        let server = PostgresServer::start().await.unwrap();
        let pool = PgPool::connect(&server.url()).await.unwrap();
        let tables = sqlx::raw_sql(sql(format!("{TABLES}{POSTGRES}")));
        tables.execute(&pool).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        pool.close().await;
        server
    };
    SERVER.get_or_init(start).await
}

/// Returns the server that all tests of this process share.
pub(crate) async fn mariadb_server() -> &'static MariaDbServer {
    static SERVER: OnceCell<MariaDbServer> = OnceCell::const_new();
    let start = async || {
        let server = MariaDbServer::start().await.unwrap();
        let pool = MySqlPool::connect(&server.url()).await.unwrap();
        let tables = sqlx::raw_sql(sql(format!("{TABLES}{MARIADB}")));
        tables.execute(&pool).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        pool.close().await;
        server
    };
    SERVER.get_or_init(start).await
}

pub(crate) async fn postgres() -> PgPool {
    let pool = PgPoolOptions::new().max_connections(8);
    let url = postgres_server().await.url();
    pool.connect(&url).await.unwrap()
}

pub(crate) async fn mariadb() -> MySqlPool {
    let pool = MySqlPoolOptions::new().max_connections(8);
    let url = mariadb_server().await.url();
    pool.connect(&url).await.unwrap()
}

pub(crate) async fn sqlite() -> (TempDir, SqlitePool) {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("locked.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    let pool = SqlitePoolOptions::new().max_connections(8);
    let pool = pool.connect_with(options).await.unwrap();
    let tables = sqlx::raw_sql(sql(format!("{TABLES}{SQLITE}")));
    tables.execute(&pool).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    (folder, pool)
}

/// Creates a manager as in another process.
pub(crate) fn manager<DB: LockDatabase>(pool: &Pool<DB>) -> LockManager {
    let backend = SqlBackend::new(pool.clone());
    LockManager::builder().prefix("").build(backend).unwrap()
}

/// Acquires the lock with a lease that is not renewed automatically.
pub(crate) async fn acquired(locks: &LockManager, key: &str) -> LockGuard {
    let lock = locks.lock(key).ttl(TTL).without_renewal();
    lock.acquire().await.unwrap()
}

pub(crate) fn is_lost<T: std::fmt::Debug>(result: &Result<T, Error>, expected: EndReason) {
    let Err(Error::Lost(lost)) = result else {
        panic!("{result:?}")
    };
    assert_eq!(lost.reason, expected, "{lost}");
}

/// Drops a call when it has returned `Pending` `waits` times, unless it completes before.
pub(crate) async fn dropped_after<T>(waits: usize, call: impl Future<Output = T>) -> Option<T> {
    let mut call = Box::pin(call);
    let mut waited = 0;
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => {
            waited += 1;
            match waited < waits {
                true => Poll::Pending,
                false => Poll::Ready(None),
            }
        }
    })
    .await
}

/// Executes a statement without values.
macro_rules! run {
    ($at:expr, $($sql:tt)*) => {
        sqlx::raw_sql($crate::locked::tools::sql(format!($($sql)*))).execute($at).await.unwrap()
    };
}

/// Returns the only value of a query.
macro_rules! number {
    ($at:expr, $($sql:tt)*) => {
        sqlx::query_scalar::<_, i64>($crate::locked::tools::sql(format!($($sql)*))).fetch_one($at).await.unwrap()
    };
}

/// Creates an item with the amount 10.
macro_rules! item {
    ($pool:expr, $id:expr) => {
        $crate::locked::tools::run!($pool, "INSERT INTO items VALUES ('{}', 10)", $id)
    };
}

/// Returns the amount of an item and the number of its changes.
macro_rules! seen {
    ($pool:expr, $id:expr) => {
        (
            $crate::locked::tools::number!($pool, "SELECT amount FROM items WHERE id = '{}'", $id),
            $crate::locked::tools::number!(
                $pool,
                "SELECT COUNT(*) FROM audit WHERE id = '{}'",
                $id
            ),
        )
    };
}

/// Ends the lease by the database's clock. The manager of the holder does not know, as if its machine was suspended.
macro_rules! expire {
    ($pool:expr, $key:expr) => {
        $crate::locked::tools::run!(
            $pool,
            "UPDATE leasehold_locks SET expires_at = 1, version = version + 1 WHERE lock_key = '{}'",
            $key
        )
    };
}

pub(crate) use {expire, item, number, run, seen};
