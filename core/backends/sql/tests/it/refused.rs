//! Databases that cannot be used, and rows that this version cannot read. Each error is permanent, so that a caller does
//! not wait for nothing, and names the remedy.

use std::time::{Duration, Instant};

use leasehold::backend::sql::{LockDatabase, SqlBackend};
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, BackendError, ReleaseAnswer};
use leasehold::{Error, Key, LockManager};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{AssertSqlSafe, MySqlPool, PgPool, Pool, query, query_scalar};

use crate::sqlite::LockFile;
use crate::{mariadb, postgres};

const TTL: Duration = Duration::from_secs(30);

/// Far less than the time for which a caller would wait.
const SOON: Duration = Duration::from_secs(10);

/// Acquires a lock, and checks the error.
async fn acquire_fails<DB: LockDatabase>(pool: Pool<DB>, remedy: &str) {
    let locks = LockManager::new(SqlBackend::new(pool));
    let begun = Instant::now();
    let acquired = locks.lock("k").wait(TTL).acquire().await;
    let Err(Error::Backend {
        applied, source, ..
    }) = acquired
    else {
        panic!("{acquired:?}")
    };
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(applied, Applied::No);
    assert!(!source.is_temporary(), "{source:?}");
    assert!(source.to_string().contains(remedy), "{source}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_table_is_an_error_on_postgres() {
    let pool = postgres::pool("refused").await;
    query("CREATE DATABASE no_table")
        .execute(&pool)
        .await
        .unwrap();
    let url = postgres::url().await;
    let (server, _) = url.rsplit_once('/').unwrap();
    let url = format!("{server}/no_table");
    acquire_fails(PgPool::connect(&url).await.unwrap(), "create_locks").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_table_is_an_error_on_mariadb() {
    let pool = mariadb::pool().await;
    query("CREATE DATABASE no_table")
        .execute(&pool)
        .await
        .unwrap();
    let url = mariadb::url().await.replace("/test", "/no_table");
    acquire_fails(MySqlPool::connect(&url).await.unwrap(), "create_locks").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_table_is_an_error_on_sqlite() {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.unwrap();
    acquire_fails(pool, "create_locks").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_an_error_on_postgres() {
    let pool = postgres::pool("refused").await;
    for sql in [
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON leasehold_locks TO reader",
    ] {
        query(sql).execute(&pool).await.unwrap();
    }
    let url = postgres::url().await.replace("//postgres@", "//reader@");
    acquire_fails(PgPool::connect(&url).await.unwrap(), "GRANT").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_an_error_on_mariadb() {
    let pool = mariadb::pool().await;
    // Every user may use the database `test`.
    for sql in [
        "CREATE DATABASE guarded",
        "CREATE TABLE guarded.leasehold_locks LIKE test.leasehold_locks",
        "CREATE USER reader@'%'",
        "CREATE USER reader@localhost",
        "GRANT SELECT ON guarded.leasehold_locks TO reader@'%'",
        "GRANT SELECT ON guarded.leasehold_locks TO reader@localhost",
    ] {
        query(sql).execute(&pool).await.unwrap();
    }
    let url = mariadb::url().await.replace("//root@", "//reader@");
    let url = url.replace("/test", "/guarded");
    acquire_fails(MySqlPool::connect(&url).await.unwrap(), "GRANT").await;
}

/// Checks an operation that must read the state.
fn refused<T: std::fmt::Debug>(answer: Result<T, BackendError>) {
    let error = answer.unwrap_err();
    assert_eq!(error.applied(), Applied::No);
    assert!(!error.is_temporary(), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("version 99") && text.contains("same version"),
        "{text}"
    );
}

/// Replaces the version of a stored state with 99, and later restores it. `$replaced` and `$restored` are the states.
macro_rules! another_version_is_refused {
    ($pool:expr, $replaced:literal, $restored:literal) => {{
        let pool = $pool;
        let backend = SqlBackend::new(pool.clone());
        let key = Key::new("", "refused:version").unwrap();
        let [holder, waiter, other] =
            [false, true, false].map(|queue| Attempt::new(key.clone(), TTL, queue));
        let answer = backend.attempt(&holder).await.unwrap();
        let AttemptAnswer::Granted { token, .. } = answer else {
            panic!("{answer:?}")
        };
        backend.attempt(&waiter).await.unwrap();
        let set = |state: &str| {
            AssertSqlSafe(format!(
                "UPDATE leasehold_locks SET state = {state} WHERE lock_key = 'refused:version'"
            ))
        };
        const VERSION: &str =
            "SELECT version FROM leasehold_locks WHERE lock_key = 'refused:version'";
        query(set($replaced)).execute(&pool).await.unwrap();
        let before: i64 = query_scalar(VERSION).fetch_one(&pool).await.unwrap();

        refused(backend.attempt(&other).await);
        refused(backend.attempt(&waiter).await);
        refused(backend.wait(&waiter).await);
        refused(backend.cleanup(&waiter).await);
        refused(backend.release(&holder.claim(token)).await);
        refused(backend.force_release(&key).await);
        refused(backend.inspect(&key).await);
        let after: i64 = query_scalar(VERSION).fetch_one(&pool).await.unwrap();
        assert_eq!(before, after, "the row has changed");

        query(set($restored)).execute(&pool).await.unwrap();
        assert_eq!(backend.inspect(&key).await.unwrap().waiting, 1);
        let released = backend.release(&holder.claim(token)).await.unwrap();
        assert_eq!(released, ReleaseAnswer::Released);
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_of_another_version_is_refused_on_postgres() {
    another_version_is_refused!(
        postgres::pool("refused").await,
        "'\\x63'::BYTEA || SUBSTR(state, 2)",
        "'\\x01'::BYTEA || SUBSTR(state, 2)"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_of_another_version_is_refused_on_mariadb() {
    another_version_is_refused!(
        mariadb::pool().await,
        "CONCAT(X'63', SUBSTR(state, 2))",
        "CONCAT(X'01', SUBSTR(state, 2))"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_of_another_version_is_refused_on_sqlite() {
    let file = LockFile::create().await;
    another_version_is_refused!(
        file.pool.clone(),
        "CAST(X'63' || SUBSTR(state, 2) AS BLOB)",
        "CAST(X'01' || SUBSTR(state, 2) AS BLOB)"
    );
}
