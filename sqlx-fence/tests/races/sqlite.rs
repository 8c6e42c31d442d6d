use leasehold_sqlx::ddl;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::race::races;

races!(
    sqlx::Sqlite,
    SqlitePool,
    "SELECT value FROM rows_of_races WHERE id = $1",
    "UPDATE rows_of_races SET value = $1 WHERE id = $2",
    |_| "BEGIN".to_owned()
);

const SCHEMA: &str = "CREATE TABLE rows_of_races (id INTEGER PRIMARY KEY, value INTEGER NOT NULL); \
     WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399) \
     INSERT INTO rows_of_races SELECT n, 0 FROM s";

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_fence_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(dir.path().join("races.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    let pools = SqlitePoolOptions::new().max_connections(4);
    let pool = pools.connect_with(options).await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "rows_of_races").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    // It has one isolation level. There a transaction that has read cannot write any more once another has: what is
    // read and written in one is not lost without a fence either.
    assert!(
        lost(&pool, Means::Nothing, None).await > 0,
        "it races nothing"
    );
    assert_eq!(lost(&pool, Means::Statement, None).await, 0);
    assert_eq!(lost(&pool, Means::ReadThenWrite, None).await, 0);
    assert_eq!(lost(&pool, Means::Transaction, None).await, 0);
    pool.close().await;
}
