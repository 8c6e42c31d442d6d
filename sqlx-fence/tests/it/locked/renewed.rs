//! Renewals during a transaction.

use std::time::{Duration, Instant};

use leasehold_sqlx::{Error, Isolation, LockedTransaction};
use sqlx::mysql::{MySqlDatabaseError, MySqlPoolOptions};
use tokio::time::sleep;

use crate::locked::tools::{
    LEVELS, acquired, item, manager, mariadb, mariadb_server, number, postgres, run, seen, sqlite,
};

fn is_weak(level: Isolation) -> bool {
    matches!(level, Isolation::ReadUncommitted | Isolation::ReadCommitted)
}

/// Renews the lease during a transaction, and returns the result of its commit.
macro_rules! renewed {
    ($pool:expr, $level:expr, $name:literal) => {{
        let (pool, level): (_, Isolation) = ($pool, $level);
        let key = format!("renewed {level:?}{}", $name);
        item!(&pool, key);
        let guard = acquired(&manager(&pool), &key).await;
        let begin = || LockedTransaction::begin(&pool, &guard).isolation(level);
        let mut tx = begin().await.unwrap();
        run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = '{key}'");
        // A read creates the snapshot.
        let read = number!(&mut *tx, "SELECT amount FROM items WHERE id = '{key}'");
        assert_eq!(read, 11);
        guard.renew().await.unwrap();
        let first = tx.commit().await;
        if first.is_err() {
            assert_eq!(seen!(&pool, key), (10, 0));
            let mut tx = begin().await.unwrap();
            run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = '{key}'");
            tx.commit().await.unwrap();
        }
        assert_eq!(seen!(&pool, key), (11, 1));
        first
    }};
}

#[tokio::test]
async fn on_postgres_renewal_conflicts_at_repeatable_read_or_higher() {
    for level in LEVELS {
        let first = renewed!(postgres().await, level, "");
        if is_weak(level) {
            first.unwrap();
            continue;
        }
        let Err(Error::Sqlx(error)) = first else {
            panic!("{level:?}: {first:?}")
        };
        let code = error.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("40001"));
    }
}

#[tokio::test]
async fn on_mariadb_a_renewal_does_not_conflict() {
    for level in LEVELS {
        renewed!(mariadb().await, level, "").unwrap();
    }
}

#[tokio::test]
async fn on_mariadb_snapshot_isolation_renewal_conflicts_at_repeatable_read_or_higher() {
    let setting = "innodb_snapshot_isolation=ON";
    let url = mariadb_server().await.url();
    let options = MySqlPoolOptions::new().after_connect(move |connection, _| {
        Box::pin(async move {
            run!(connection, "SET SESSION {setting}");
            Ok(())
        })
    });
    let pool = options.connect(&url).await.unwrap();
    for level in LEVELS {
        let first = renewed!(pool.clone(), level, " snapshot");
        if is_weak(level) {
            first.unwrap();
            continue;
        }
        let Err(Error::Sqlx(error)) = first else {
            panic!("{level:?}: {first:?}")
        };
        let error = error.into_database_error().unwrap();
        let error = error.downcast::<MySqlDatabaseError>();
        assert_eq!(error.number(), 1020, "{level:?}");
    }
}

/// The watchdog renews the lease while a transaction is open for longer than a TTL, which then commits.
macro_rules! watchdog {
    ($pool:expr, $level:expr) => {{
        let (pool, level): (_, Isolation) = ($pool, $level);
        let key = format!("watchdog {level:?}");
        item!(&pool, key);
        // On a busy machine, a renewal by a database may take half a second.
        let ttl = Duration::from_secs(6);
        let lock = manager(&pool).lock(key.clone()).ttl(ttl);
        let guard = lock.acquire().await.unwrap();
        let end = || format!("SELECT expires_at FROM leasehold_locks WHERE lock_key = '{key}'");
        let begin = LockedTransaction::begin(&pool, &guard).isolation(level);
        let mut tx = begin.await.unwrap();
        run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = '{key}'");
        let (before, begun) = (number!(&pool, "{}", end()), Instant::now());
        while begun.elapsed() < ttl + ttl / 3 {
            sleep(ttl / 10).await;
            assert!(guard.is_valid());
        }
        assert!(number!(&pool, "{}", end()) > before);
        tx.commit().await.unwrap();
        assert_eq!(seen!(&pool, key), (11, 1));
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_the_watchdog_renews_during_a_transaction() {
    watchdog!(postgres().await, Isolation::ReadCommitted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_the_watchdog_renews_during_a_transaction() {
    let pool = mariadb().await;
    let renews = async |level| watchdog!(pool.clone(), level);
    let [one, two, three, four] = LEVELS;
    tokio::join!(renews(one), renews(two), renews(three), renews(four));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_transaction_delays_renewals_and_a_short_one_commits() {
    let (_folder, pool) = sqlite().await;
    item!(&pool, "delayed");
    let ttl = Duration::from_secs(6);
    let lock = manager(&pool).lock("delayed").ttl(ttl);
    let guard = lock.acquire().await.unwrap();
    for _ in 0..2 {
        let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = amount + 1 WHERE id = 'delayed'"
        );
        sleep(ttl / 2).await;
        tx.commit().await.unwrap();
        guard.renew().await.unwrap();
    }
    assert_eq!(seen!(&pool, "delayed"), (12, 2));
}
