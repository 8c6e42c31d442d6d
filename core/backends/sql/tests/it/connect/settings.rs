//! Servers whose settings are not the defaults.

use std::error::Error as _;
use std::time::Duration;

use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold::backend::{Attempt, Backend as _, RenewAnswer};
use leasehold::{Error, Key, LockManager};
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, MySqlPool, query_scalar, raw_sql};

use super::assert_shared;
use crate::waiters::take;

/// Settings of the session that a server may give to each client.
const SETTINGS: [&str; 2] = [
    "SET GLOBAL autocommit = 0, GLOBAL sql_safe_updates = 1",
    "SET GLOBAL init_connect = 'SET autocommit = 0'",
];

#[tokio::test]
async fn on_mariadb_locks_are_committed_whatever_the_defaults_of_the_session_are() {
    for setting in SETTINGS {
        let server = MariaDbServer::start().await.unwrap();
        let admin = MySqlPool::connect(&server.url()).await.unwrap();
        // The server does not execute `init_connect` for a superuser.
        let user = "CREATE USER worker@localhost; GRANT ALL ON test.* TO worker@localhost";
        raw_sql(user).execute(&admin).await.unwrap();
        raw_sql(setting).execute(&admin).await.unwrap();
        let url = server.url().replace("root@", "worker@");
        let one = LockManager::connect(&url).await.unwrap();
        let other = LockManager::connect(&url).await.unwrap();
        assert_shared(&one, &other).await;
    }
}

#[tokio::test]
async fn on_mariadb_a_pool_without_autocommit_is_refused_with_the_remedy() {
    let server = MariaDbServer::start().await.unwrap();
    let options = MySqlPoolOptions::new().after_connect(|connection, _| {
        Box::pin(async move {
            raw_sql("SET autocommit = 0").execute(connection).await?;
            Ok(())
        })
    });
    let pool = options.connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let locks = LockManager::new(SqlBackend::new(pool));
    let Error::Backend { source, .. } = locks.lock("k").acquire().await.unwrap_err() else {
        panic!("another error")
    };
    assert!(!source.is_temporary());
    let text = source.to_string();
    assert!(text.contains("SET autocommit = 1"), "{text}");
}

/// Returns how many `UPDATE` statements the server has executed.
async fn updates(admin: &MySqlPool) -> i64 {
    let count = query_scalar(
        "SELECT CAST(SUM(variable_value) AS SIGNED) FROM information_schema.global_status \
         WHERE variable_name IN ('COM_UPDATE', 'COM_UPDATE_MULTI')",
    );
    count.fetch_one(admin).await.unwrap()
}

/// Holds two locks, and returns how many `UPDATE` statements their renewal needs.
async fn updates_of_a_renewal(backend: &SqlBackend<MySql>, admin: &MySqlPool) -> i64 {
    let mut claims = Vec::new();
    for name in ["a", "b"] {
        let key = Key::new("lock:", name).unwrap();
        let attempt = Attempt::new(key, Duration::from_secs(30), true);
        claims.push(take(backend, &attempt).await);
    }
    let before = updates(admin).await;
    for renewed in backend.renew(&claims).await {
        assert!(
            matches!(renewed, Ok(RenewAnswer::Extended { .. })),
            "{renewed:?}"
        );
    }
    let count = updates(admin).await - before;
    for claim in &claims {
        backend.release(claim).await.unwrap();
    }
    count
}

#[tokio::test]
async fn on_mariadb_safe_updates_are_off_in_own_sessions_and_refuse_no_renewal_in_others() {
    let server = MariaDbServer::start().await.unwrap();
    let admin = MySqlPool::connect(&server.url()).await.unwrap();
    let setting = "SET GLOBAL sql_safe_updates = 1";
    raw_sql(setting).execute(&admin).await.unwrap();
    let own = SqlBackend::<MySql>::connect(&server.url()).await.unwrap();
    assert_eq!(updates_of_a_renewal(&own, &admin).await, 1);
    // The server refuses the statement for both locks, so there is one for each.
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    let others = SqlBackend::new(pool);
    assert_eq!(updates_of_a_renewal(&others, &admin).await, 3);
}

#[tokio::test]
async fn concurrent_attempts_return_the_error_of_the_database() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let locks = LockManager::new(SqlBackend::new(pool.clone()));
    let drop = "ALTER TABLE leasehold_locks DROP COLUMN label";
    raw_sql(drop).execute(&pool).await.unwrap();
    let attempts = (0..4).map(|_| locks.lock("k").acquire());
    for refused in futures_util::future::join_all(attempts).await {
        let Error::Backend { source, .. } = refused.unwrap_err() else {
            panic!("another error")
        };
        let cause = source.source().unwrap().to_string();
        assert!(cause.contains("label"), "{cause}");
    }
}
