//! Old rows are deleted, and rows in use are not. The keys begin with `!`, so that they are in the first batch.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use sqlx::{query, query_scalar};
use tokio::time::sleep;

/// Each row is old, except for one column.
const ROWS: &str = "INSERT INTO leasehold_locks \
     (lock_key, version, owner, token, expires_at, kept_until, closed_until) VALUES \
     ('!swept:old', 1, NULL, 1, 1, 1, 1), \
     ('!swept:version', 4000000000000000000, NULL, 1, 1, 1, 1), \
     ('!swept:token', 1, NULL, 4000000000000000000, 1, 1, 1), \
     ('!swept:lease', 1, NULL, 1, 4000000000000000000, 1, 1), \
     ('!swept:kept', 1, NULL, 1, 1, 4000000000000000000, 1), \
     ('!swept:closed', 1, NULL, 1, 1, 1, 4000000000000000000)";
const LEFT: &str = "SELECT COUNT(*) FROM leasehold_locks WHERE lock_key LIKE '!swept:%'";
const OLD: &str = "SELECT COUNT(*) FROM leasehold_locks WHERE lock_key = '!swept:old'";

macro_rules! old_rows_are_deleted {
    ($pool:expr) => {{
        let pool = $pool;
        query(ROWS).execute(&pool).await.unwrap();
        let backend = SqlBackend::new(pool.clone());
        let key = Key::new("", "in use").unwrap();
        let attempt = Attempt::new(key, Duration::from_secs(30), false);
        let answer = backend.attempt(&attempt).await.unwrap();
        let AttemptAnswer::Granted { token, .. } = answer else {
            panic!("{answer:?}")
        };
        backend.release(&attempt.claim(token)).await.unwrap();
        loop {
            let old: i64 = query_scalar(OLD).fetch_one(&pool).await.unwrap();
            if old == 0 {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        let left: i64 = query_scalar(LEFT).fetch_one(&pool).await.unwrap();
        assert_eq!(left, 5);
    }};
}

#[tokio::test]
async fn old_rows_are_deleted_on_postgres() {
    old_rows_are_deleted!(crate::postgres::pool("swept").await);
}

#[tokio::test]
async fn old_rows_are_deleted_on_mariadb() {
    old_rows_are_deleted!(crate::mariadb::pool().await);
}

#[tokio::test]
async fn old_rows_are_deleted_on_sqlite() {
    let file = crate::sqlite::LockFile::create().await;
    old_rows_are_deleted!(file.pool.clone());
}
