use leasehold_sqlx::ddl;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::races::many::many;
use crate::races::race::races;

races!(
    sqlx::Sqlite,
    SqlitePool,
    "SELECT value FROM rows_of_races WHERE id = $1",
    "UPDATE rows_of_races SET value = $1 WHERE id = $2",
    begin_at
);

fn begin_at(_level: Option<Isolation>) -> String {
    "BEGIN".to_owned()
}

many!(
    sqlx::Sqlite,
    SqlitePool,
    begin_at,
    &[
        "UPDATE stock SET value = $1 WHERE id IN (1, 2)",
        "UPDATE stock SET value = $1 WHERE id = 2 OR id = 3",
        "UPDATE stock SET value = $1 WHERE id IN (SELECT id FROM (SELECT id FROM stock ORDER BY id DESC LIMIT 2) AS chosen)",
        "UPDATE stock SET value = $1 WHERE EXISTS (SELECT 1 FROM lots WHERE lots.id = stock.lot AND lots.part = 1)",
        "UPDATE stock SET value = $1 FROM lots WHERE lots.id = stock.lot AND lots.part = 2",
        "UPDATE stock AS s SET value = $1 FROM stock AS other WHERE other.id = s.id AND other.lot = 1",
    ]
);

const STOCK: &str = "\
CREATE TABLE stock (id BIGINT PRIMARY KEY, lot BIGINT NOT NULL, value BIGINT NOT NULL, fencing_token BIGINT);\
CREATE TABLE lots (id BIGINT PRIMARY KEY, part BIGINT NOT NULL);\
INSERT INTO lots VALUES (1, 1), (2, 2);\
INSERT INTO stock (id, lot, value) VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0), (4, 2, 0);\
CREATE TRIGGER refuse BEFORE UPDATE ON stock WHEN NEW.fencing_token IS NULL \
OR NEW.fencing_token < OLD.fencing_token OR NEW.value <> NEW.fencing_token \
BEGIN SELECT RAISE(ABORT, 'older'); END;";

const SCHEMA: &str = "CREATE TABLE rows_of_races (id INTEGER PRIMARY KEY, value INTEGER NOT NULL); \
     WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399) \
     INSERT INTO rows_of_races SELECT n, 0 FROM s";

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_racing_fenced_writes_lose_no_update() {
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
    // `SQLite` has one isolation level. A transaction that has read cannot write after another transaction has written.
    // So a read and a write in one transaction are not lost, even without a fence.
    assert!(
        lost(&pool, Means::Nothing, None).await > 0,
        "it races nothing"
    );
    assert_eq!(lost(&pool, Means::Statement, None).await, 0);
    assert_eq!(lost(&pool, Means::ReadThenWrite, None).await, 0);
    assert_eq!(lost(&pool, Means::Transaction, None).await, 0);
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_older_tokens_overwrite_no_row_and_return_stale() {
    let dir = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(dir.path().join("stock.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    let pools = SqlitePoolOptions::new().max_connections(4);
    let pool = pools.connect_with(options).await.unwrap();
    sqlx::raw_sql(STOCK).execute(&pool).await.unwrap();
    many(&pool, None).await;
    pool.close().await;
}
