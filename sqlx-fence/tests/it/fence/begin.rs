//! Transactions under a fence.

use std::time::{Duration, Instant};

use leasehold_sqlx::{Error, Isolation};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{MySqlPool, PgPool, SqlitePool};

use crate::fence::tools::{fence, mariadb, postgres};

const LIMIT: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the same checks on each database.
macro_rules! begin {
    ($pool:expr, $floor:expr, $write:literal) => {{
        let pool = $pool;
        // The same or a newer token is admitted, an older one is refused.
        for number in [5, 5, 7] {
            let tx = fence(number).begin(&pool, "account:1").await.unwrap();
            tx.commit().await.unwrap();
        }
        let stale = fence(6).begin(&pool, "account:1").await;
        let Err(Error::Stale(stale)) = stale else {
            panic!("{stale:?}")
        };
        assert_eq!((stale.token.get(), stale.current.get()), (6, 7));
        // Each resource has its own token, and names are compared byte by byte.
        for other in [
            "account:2",
            "Account:1",
            "account:1 ",
            "áccount:1",
            "account:1'; --",
        ] {
            fence(1)
                .begin(&pool, other)
                .await
                .unwrap()
                .commit()
                .await
                .unwrap();
        }
        for bad in [String::new(), "x".repeat(513), "a\0b".to_owned()] {
            let refused = fence(9).begin(&pool, bad).await;
            assert!(
                matches!(
                    refused,
                    Err(Error::Name {
                        what: "resource",
                        ..
                    })
                ),
                "{refused:?}"
            );
        }
        fence(1)
            .begin(&pool, "é".repeat(256))
            .await
            .unwrap()
            .commit()
            .await
            .unwrap();

        // A rollback undoes the write and the claim.
        let mut tx = fence(9).begin(&pool, "account:1").await.unwrap();
        sqlx::query($write)
            .bind(99_i64)
            .execute(&mut *tx)
            .await
            .unwrap();
        tx.rollback().await.unwrap();
        let tx = fence(8)
            .begin(&pool, "account:1")
            .isolation(Isolation::RepeatableRead)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let amount: i64 = sqlx::query_scalar("SELECT amount FROM items WHERE id = 1")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(amount, 10);

        // An open transaction blocks the next holder for as long as its `lock_timeout`, and no longer.
        let mut held = fence(8).begin(&pool, "account:1").await.unwrap();
        sqlx::query($write)
            .bind(80_i64)
            .execute(&mut *held)
            .await
            .unwrap();
        let begun = Instant::now();
        let busy = fence(9).begin(&pool, "account:1").lock_timeout(LIMIT).await;
        let Err(Error::Busy {
            resource,
            limit: LIMIT,
        }) = busy
        else {
            panic!("{busy:?}")
        };
        assert_eq!(resource, "account:1");
        let waited = begun.elapsed();
        assert!(waited >= $floor, "it did not wait: {waited:?}");
        held.commit().await.unwrap();
        fence(9)
            .begin(&pool, "account:1")
            .lock_timeout(LIMIT)
            .await
            .unwrap()
            .commit()
            .await
            .unwrap();
        pool
    }};
}

#[tokio::test]
async fn on_sqlite_begin_refuses_older_tokens_and_obeys_lock_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(dir.path().join("begin.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let items = "CREATE TABLE items (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO items VALUES (1, 10)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    leasehold_sqlx::ddl::create_fences(&pool).await.unwrap();
    let pool = begin!(pool, LIMIT, "UPDATE items SET amount = ? WHERE id = 1");

    // The time limit of the connection is restored after success and after failure.
    let held = fence(9).begin(&pool, "account:1").await.unwrap();
    assert!(
        fence(9)
            .begin(&pool, "account:1")
            .lock_timeout(LIMIT)
            .await
            .is_err()
    );
    held.rollback().await.unwrap();
    let mut connections = Vec::new();
    for _ in 0..pool.size() {
        let mut connection = pool.acquire().await.unwrap();
        let limit: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
            .fetch_one(&mut *connection)
            .await
            .unwrap();
        assert_eq!(limit, 5000);
        connections.push(connection);
    }
    assert!(!connections.is_empty());
}

#[tokio::test]
async fn on_postgres_begin_refuses_older_tokens_and_obeys_lock_timeout() {
    let (_server, pool) = postgres().await;
    let pool: PgPool = begin!(pool, LIMIT, "UPDATE items SET amount = $1 WHERE id = 1");
    let limit: String = sqlx::query_scalar("SHOW lock_timeout")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(limit, "0");
    let mut tx = fence(10)
        .begin(&pool, "account:1")
        .isolation(Isolation::Serializable)
        .await
        .unwrap();
    let level: String = sqlx::query_scalar("SHOW transaction_isolation")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    assert_eq!(level, "serializable");
}

#[tokio::test]
async fn on_mariadb_begin_refuses_older_tokens_and_obeys_lock_timeout() {
    let (_server, pool) = mariadb().await;
    // The server counts the limit in whole seconds.
    let pool: MySqlPool = begin!(pool, LIMIT, "UPDATE items SET amount = ? WHERE id = 1");
    let mut connections = Vec::new();
    for _ in 0..pool.size() {
        let mut connection = pool.acquire().await.unwrap();
        let read = sqlx::query_scalar("SELECT @@innodb_lock_wait_timeout");
        let limit: u64 = read.fetch_one(&mut *connection).await.unwrap();
        assert_eq!(limit, 50);
        connections.push(connection);
    }
    assert!(!connections.is_empty());
}

/// Claims new resources in open transactions, which do not wait for each other.
macro_rules! apart {
    ($pool:expr) => {
        for level in [
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ] {
            let mut open = Vec::new();
            for resource in ["b", "a", "c"] {
                let begin = fence(3).begin(&$pool, format!("{level:?} {resource}"));
                open.push(begin.isolation(level).lock_timeout(LIMIT).await.unwrap());
            }
        }
    };
}

#[tokio::test]
async fn begins_on_different_new_resources_do_not_wait_for_each_other() {
    let (_server, postgres) = postgres().await;
    let (_other, mariadb) = mariadb().await;
    apart!(postgres);
    apart!(mariadb);
}

/// Lets many tasks claim a new resource concurrently. All of them succeed, and none is aborted.
macro_rules! crowd {
    ($pool:expr, $level:expr) => {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let pool = $pool.clone();
                tokio::spawn(async move {
                    let tx = fence(3).begin(&pool, "new").isolation($level).await?;
                    tx.commit().await.map_err(Error::from)
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        sqlx::query("DELETE FROM leasehold_fences")
            .execute(&$pool)
            .await
            .unwrap();
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_begins_on_one_new_resource_all_succeed() {
    let (_server, postgres) = postgres().await;
    let (_other, mariadb) = mariadb().await;
    for _ in 0..10 {
        for level in [
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ] {
            crowd!(postgres, level);
            crowd!(mariadb, level);
        }
    }
}

/// The first holder is stopped in its transaction, with a limit for idle transactions. The next one waits until then.
macro_rules! idle_limit {
    ($limited:expr, $pool:expr) => {{
        let mut stopped = fence(1).begin(&$limited, "account:1").await.unwrap();
        let next = fence(2).begin(&$pool, "account:1").lock_timeout(PATIENCE);
        next.await.unwrap().commit().await.unwrap();
        let late = sqlx::query("UPDATE items SET amount = 1 WHERE id = 1");
        assert!(late.execute(&mut *stopped).await.is_err());
    }};
}

#[tokio::test]
async fn idle_limit_of_postgres_ends_the_claim_of_a_stopped_holder() {
    let (_server, pool) = postgres().await;
    let options = (*pool.connect_options()).clone();
    let options = options.options([("idle_in_transaction_session_timeout", "300ms")]);
    idle_limit!(PgPool::connect_lazy_with(options), pool);
}

#[tokio::test]
async fn idle_limit_of_mariadb_ends_the_claim_of_a_stopped_holder() {
    let (_server, pool) = mariadb().await;
    let limited = MySqlPoolOptions::new().after_connect(|connection, _| {
        Box::pin(async move {
            let set = sqlx::raw_sql("SET SESSION idle_transaction_timeout = 1");
            set.execute(connection).await.map(drop)
        })
    });
    let limited = limited.connect_lazy_with((*pool.connect_options()).clone());
    idle_limit!(limited, pool);
}
