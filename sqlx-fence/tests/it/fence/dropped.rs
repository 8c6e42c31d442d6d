//! Calls that are dropped before they complete, at each of their `.await`s.

use std::future::{Future, IntoFuture, poll_fn};
use std::task::Poll;
use std::time::Duration;

use leasehold_sqlx::{Error, ddl};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqlitePoolOptions;
use tokio::time::timeout;

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Longer than any step of these tests, and shorter than the acquire timeout of a pool.
const SOON: Duration = Duration::from_secs(10);

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

/// Drops a `begin` while the response to its `BEGIN` is held back. Other connections must see the next write on the
/// same connection.
macro_rules! dropped {
    ($options:ty, $server:expr) => {{
        let server = $server;
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let behind = server.url().replace(
            &format!(":{}", server.port()),
            &format!(":{}", proxy.port()),
        );
        assert_ne!(behind, server.url());
        // A pool that tests the connection first would not send `BEGIN`, because the response to the test is held back.
        let only_one = <$options>::new()
            .max_connections(1)
            .test_before_acquire(false);
        let pool = only_one.connect(&behind).await.unwrap();
        let others = <$options>::new().connect(&server.url()).await.unwrap();
        ddl::create_fences(&others).await.unwrap();
        let schema = "CREATE TABLE notes (id INT NOT NULL)";
        sqlx::query(schema).execute(&others).await.unwrap();
        proxy.set(Direction::ToClient, Traffic::Hold);
        let begun = fence(7).begin(&pool, "notes").into_future();
        let dropped = timeout(Duration::from_millis(200), begun).await;
        assert!(dropped.is_err(), "it was to be dropped");
        proxy.pass();
        proxy.deliver_held().await.unwrap();
        let written = sqlx::query("INSERT INTO notes VALUES (1)").execute(&pool);
        written.await.unwrap();
        let there = "SELECT COUNT(*) FROM notes";
        let seen: i64 = sqlx::query_scalar(there).fetch_one(&others).await.unwrap();
        assert_eq!(seen, 1, "what was confirmed is there");
    }};
}

#[tokio::test]
async fn on_postgres_write_after_a_dropped_begin_is_committed() {
    dropped!(PgPoolOptions, PostgresServer::start().await.unwrap());
}

#[tokio::test]
async fn on_mariadb_write_after_a_dropped_begin_is_committed() {
    dropped!(MySqlPoolOptions, MariaDbServer::start().await.unwrap());
}

/// A dropped `begin` restores its connection, and claims nothing.
macro_rules! begins_dropped {
    ($options:ty, $server:expr, $setting:literal) => {{
        let (server, others) = $server;
        for waits in 1.. {
            let only_one = <$options>::new().max_connections(1);
            let pool = only_one.connect(&server.url()).await.unwrap();
            let setting = || sqlx::query_scalar::<_, String>($setting).fetch_one(&pool);
            let before = setting().await.unwrap();
            let begun = dropped_after(waits, fence(7).begin(&pool, "items").into_future()).await;
            let has_begun = begun.is_some();
            drop(begun);
            let after = timeout(SOON, setting()).await;
            let after = after.unwrap_or_else(|_| panic!("{waits}: the connection is lost"));
            assert_eq!(after.unwrap(), before, "after {waits}");
            let claimed = "SELECT token FROM leasehold_fences WHERE resource = 'items'";
            let claimed = sqlx::query_scalar::<_, i64>(claimed).fetch_optional(&others);
            assert_eq!(claimed.await.unwrap(), None, "after {waits}");
            if has_begun {
                break;
            }
        }
    }};
}

#[tokio::test]
async fn on_postgres_dropped_begin_restores_the_connection_and_claims_nothing() {
    begins_dropped!(
        PgPoolOptions,
        postgres().await,
        "SELECT current_setting('lock_timeout')"
    );
}

#[tokio::test]
async fn on_mariadb_dropped_begin_restores_the_connection_and_claims_nothing() {
    begins_dropped!(
        MySqlPoolOptions,
        mariadb().await,
        "SELECT CAST(@@innodb_lock_wait_timeout * 10 + @@in_transaction AS CHAR)"
    );
}

#[tokio::test]
async fn on_sqlite_begin_dropped_while_waiting_restores_the_busy_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!(
        "sqlite:{}?mode=rwc",
        dir.path().join("dropped.db").display()
    );
    let only_one = || SqlitePoolOptions::new().max_connections(1);
    let others = only_one().connect(&url).await.unwrap();
    ddl::create_fences(&others).await.unwrap();
    let pool = only_one().connect(&url).await.unwrap();
    let held = fence(7).begin(&others, "items").await.unwrap();
    let limit = Duration::from_secs(10);
    let waits = fence(7).begin(&pool, "items").lock_timeout(limit);
    let dropped = timeout(limit / 50, waits.into_future()).await;
    assert!(dropped.is_err(), "it was to be dropped");
    let limit: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(limit, 5000);
    held.rollback().await.unwrap();
}

/// Drops a statement with `expect_rows` inside of `begin`. The transaction and its claim stay open, so later statements
/// are not committed on their own.
macro_rules! statements_dropped {
    ($pool:expr, $write:literal) => {{
        let pool = $pool;
        let mut rounds = 0;
        let mut waits = 0;
        // A call that completes without waiting cannot be dropped halfway, so start again at the first wait.
        while rounds < 5 {
            waits += 1;
            let mut tx = fence(7).begin(&pool, "items").await.unwrap();
            let write = |amount: i64| {
                let query = fence(7).query($write).bind(amount);
                query.expect_rows(1)
            };
            // Prepare the statement first, because sqlx loses a `MariaDB` connection if a statement is dropped while it
            // is prepared.
            write(7).execute(&mut *tx).await.unwrap();
            let written = dropped_after(waits, write(8).execute(&mut *tx)).await;
            let follows = sqlx::query("UPDATE items SET amount = 9 WHERE id = 2");
            follows.execute(&mut *tx).await.unwrap();
            write(10).execute(&mut *tx).await.unwrap();
            tx.rollback().await.unwrap();
            let amounts = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
            let amounts: Vec<i64> = amounts.fetch_all(&pool).await.unwrap();
            assert_eq!(amounts, [10, 20, 30, 40], "after {waits}");
            if let Some(written) = written {
                written.unwrap();
                rounds += 1;
                waits = 0;
            }
        }
    }};
}

#[tokio::test]
async fn on_sqlite_dropped_statement_keeps_its_transaction_open() {
    statements_dropped!(sqlite().await, "UPDATE items SET amount = ? WHERE id = 1");
}

#[tokio::test]
async fn on_postgres_dropped_statement_keeps_its_transaction_open() {
    let (_server, pool) = postgres().await;
    statements_dropped!(pool, "UPDATE items SET amount = $1 WHERE id = 1");
}

#[tokio::test]
async fn on_mariadb_dropped_statement_keeps_its_transaction_open() {
    let (_server, pool) = mariadb().await;
    statements_dropped!(pool, "UPDATE items SET amount = ? WHERE id = 1");
}

/// After a failed statement, Postgres refuses all other statements of the transaction. A statement with `expect_rows`
/// then does not end the transaction.
#[tokio::test]
async fn on_postgres_fenced_statement_after_an_error_keeps_the_transaction_open() {
    let (_server, pool) = postgres().await;
    let mut tx = fence(7).begin(&pool, "items").await.unwrap();
    let twice = sqlx::query("INSERT INTO items VALUES (1, 1)").execute(&mut *tx);
    assert!(twice.await.is_err());
    let write = fence(7).query("UPDATE items SET amount = 7 WHERE id = 1");
    let write = write.expect_rows(1).execute(&mut *tx).await;
    assert!(matches!(write, Err(Error::Sqlx(_))), "{write:?}");
    let follows = sqlx::query("UPDATE items SET amount = 7 WHERE id = 2");
    let follows = follows.execute(&mut *tx).await;
    assert!(follows.is_err(), "it is written by itself: {follows:?}");
}
