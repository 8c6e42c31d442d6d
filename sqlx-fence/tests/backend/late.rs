//! A late statement of an ended attempt does not acquire the lock.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold_sqlx::SqlBackend;
use sqlx::{PgPool, Postgres, query, query_scalar};
use tokio::time::{sleep, timeout};

use crate::postgres::pool;

const TTL: Duration = Duration::from_secs(30);
/// Counts the statements of this pool that acquire and wait for a lock of the database.
const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
     AND application_name = current_setting('application_name') AND query LIKE 'WITH taken%'";

/// Returns the key of a new lock, and a backend that knows the clock of the database.
async fn backend(name: &str) -> (PgPool, SqlBackend<Postgres>, Key) {
    let pool = pool(name).await;
    let backend = SqlBackend::new(pool.clone());
    let key = Key::new("", name).unwrap();
    assert!(backend.inspect(&key).await.unwrap().is_free());
    (pool, backend, key)
}

async fn waiting(pool: &PgPool) -> i64 {
    query_scalar(WAITING).fetch_one(pool).await.unwrap()
}

/// Drops an attempt while its statement waits for a lock of the database, cleans up, and then lets the statement go on.
async fn cleanup_overtakes(pool: PgPool, backend: SqlBackend<Postgres>, key: Key, block: &str) {
    let mut blocker = pool.begin().await.unwrap();
    query(sqlx::AssertSqlSafe(block.to_owned()))
        .bind(key.full())
        .execute(&mut *blocker)
        .await
        .unwrap();
    let late = Attempt::new(key.clone(), TTL, false);
    let dropped = timeout(Duration::from_millis(200), backend.attempt(&late)).await;
    assert!(dropped.is_err(), "{dropped:?}");
    assert_eq!(waiting(&pool).await, 1);

    let cleanup = tokio::spawn({
        let (backend, late) = (backend.clone(), late.clone());
        async move { backend.cleanup(&late).await.unwrap() }
    });
    sleep(Duration::from_millis(200)).await;
    blocker.rollback().await.unwrap();
    cleanup.await.unwrap();
    while waiting(&pool).await > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(100)).await;
    let seen = backend.inspect(&key).await.unwrap();
    assert!(seen.is_free(), "{seen:?}");

    let next = Attempt::new(key, TTL, false);
    let answer = backend.attempt(&next).await.unwrap();
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_statement_for_a_new_key_does_not_acquire() {
    let (pool, backend, key) = backend("late:new").await;
    let insert = "INSERT INTO leasehold_locks VALUES ($1, 0, NULL, 0, 0, 0, 0, NULL)";
    cleanup_overtakes(pool, backend, key, insert).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_statement_for_a_released_key_does_not_acquire() {
    let (pool, backend, key) = backend("late:released").await;
    let earlier = Attempt::new(key.clone(), TTL, false);
    let answer = backend.attempt(&earlier).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    backend.release(&earlier.claim(token)).await.unwrap();
    let lock = "SELECT 1 FROM leasehold_locks WHERE lock_key = $1 FOR UPDATE";
    cleanup_overtakes(pool, backend, key, lock).await;
}
