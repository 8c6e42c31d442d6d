//! End-to-end tests with a lock on a real Redis or `ZooKeeper` server. A holder is stopped with SIGSTOP for longer than
//! its lease, the next holder writes, and the first one writes late.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod holder;

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_sqlx::{Error, Fence, ddl};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, RedisServer, ZooKeeperServer};

const SOON: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(1);

/// Starts a holder in another process: see [`holder`].
async fn holder(locks: &str, database: &str, role: &str) -> ChildProcess {
    let mut child = ChildProcess::of(std::env::current_exe().unwrap())
        .args(["--exact", "paused::holder::holder_process", "--nocapture"])
        .env(holder::ROLE, format!("{role} {locks} {database}"))
        .start()
        .unwrap();
    child
        .line_where(SOON, |line| line.ends_with("holds"))
        .await
        .unwrap();
    child
}

/// Stops the holder A, acquires the lock, writes, and continues A. The write of A is refused as stale.
macro_rules! late_write {
    ($pool:expr, $locks:expr, $url:expr) => {{
        let pool = $pool;
        let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, writer VARCHAR(9)); INSERT INTO items VALUES (1, '-')";
        sqlx::raw_sql(items).execute(&pool).await.unwrap();
        ddl::add_column(&pool, "items").await.unwrap();
        ddl::create_fences(&pool).await.unwrap();
        let mut a = holder($locks, $url, "statement").await;
        a.pause().unwrap();

        // The lock becomes free when A's lease expires, because A cannot renew it.
        let locks = LockManager::connect($locks).await.unwrap();
        let guard = locks.lock("item:1").acquire().await.unwrap();
        let b = Fence::new(guard.token());
        b.query("UPDATE items SET writer = 'B' WHERE id = 1").execute(&pool).await.unwrap();
        // A short session of B may have ended on a busy machine. The fence still has B's token.
        let _released = guard.release().await;

        a.tell("write").unwrap();
        a.resume().unwrap();
        let said = a.line_where(SOON, |line| line.starts_with("A:")).await.unwrap();
        assert_eq!(said, "A: stale");
        let writer: String = sqlx::query_scalar("SELECT writer FROM items WHERE id = 1")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(writer, "B");
        assert!(a.end(SOON).await.unwrap().success());
    }};
}

/// Like `late_write`, but A has an open transaction. B waits for it only until its time limit.
macro_rules! open_transaction {
    ($pool:expr, $locks:expr, $url:expr) => {{
        let pool = $pool;
        let mut a = holder($locks, $url, "transaction").await;
        a.pause().unwrap();
        let locks = LockManager::connect($locks).await.unwrap();
        let guard = locks.lock("item:1").acquire().await.unwrap();
        let b = Fence::new(guard.token());
        let begun = Instant::now();
        let busy = b.begin(&pool, "item:1").lock_timeout(LIMIT).await;
        assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
        let waited = begun.elapsed();
        // Without the time limit, B would wait forever. The upper bound is large, because the machine may be slow.
        assert!(waited >= LIMIT && waited < LIMIT * 20, "{waited:?}");

        // A's open transaction began first, so its commit succeeds. A's next transaction is stale.
        a.tell("commit").unwrap();
        a.resume().unwrap();
        let said = a
            .line_where(SOON, |line| line.starts_with("A:"))
            .await
            .unwrap();
        assert_eq!(said, "A: committed");
        let mut tx = b.begin(&pool, "item:1").await.unwrap();
        let writer: String = sqlx::query_scalar("SELECT writer FROM items WHERE id = 1")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        assert_eq!(writer, "A");
        sqlx::query("UPDATE items SET writer = 'B' WHERE id = 1")
            .execute(&mut *tx)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        a.tell("again").unwrap();
        let said = a
            .line_where(SOON, |line| line.starts_with("A:"))
            .await
            .unwrap();
        assert_eq!(said, "A: stale");
        let writer: String = sqlx::query_scalar("SELECT writer FROM items WHERE id = 1")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(writer, "B");
        assert!(a.end(SOON).await.unwrap().success());
        // A short session of B may have ended on a busy machine.
        let _released = guard.release().await;
    }};
}

#[tokio::test]
async fn on_postgres_late_write_of_a_paused_holder_is_refused() {
    let (redis, server) = (
        RedisServer::start().await.unwrap(),
        PostgresServer::start().await.unwrap(),
    );
    let pool = sqlx::PgPool::connect(&server.url()).await.unwrap();
    late_write!(pool.clone(), &redis.url(), &server.url());
    open_transaction!(pool, &redis.url(), &server.url());
}

#[tokio::test]
async fn on_mariadb_late_write_of_a_paused_holder_is_refused() {
    let (redis, server) = (
        RedisServer::start().await.unwrap(),
        MariaDbServer::start().await.unwrap(),
    );
    let pool = sqlx::MySqlPool::connect(&server.url()).await.unwrap();
    late_write!(pool.clone(), &redis.url(), &server.url());
    open_transaction!(pool, &redis.url(), &server.url());
}

#[tokio::test]
async fn on_sqlite_late_write_of_a_paused_holder_is_refused() {
    let redis = RedisServer::start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let url = format!(
        "sqlite://{}?mode=rwc",
        dir.path().join("paused.db").display()
    );
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    sqlx::query("PRAGMA journal_mode = WAL")
        .execute(&pool)
        .await
        .unwrap();
    late_write!(pool.clone(), &redis.url(), &url);
    open_transaction!(pool, &redis.url(), &url);
}

#[tokio::test]
async fn on_postgres_late_write_with_a_zookeeper_token_is_refused() {
    // By default a holder asks for a session of 10 s, which is too long for a test.
    let longest = Duration::from_secs(2);
    let zookeeper = ZooKeeperServer::builder().longest_session(longest);
    let (zookeeper, server) = (
        zookeeper.start().await.unwrap(),
        PostgresServer::start().await.unwrap(),
    );
    let locks = format!("zookeeper://{}/locks", zookeeper.address());
    let pool = sqlx::PgPool::connect(&server.url()).await.unwrap();
    late_write!(pool.clone(), &locks, &server.url());
    open_transaction!(pool, &locks, &server.url());
}
