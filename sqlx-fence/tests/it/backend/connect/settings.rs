//! Servers whose settings are not the defaults.

use std::error::Error as _;

use leasehold::{Error, LockManager};
use leasehold_sqlx::{SqlBackend, ddl};
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySqlPool, raw_sql};

use super::assert_shared;

/// Settings of the session that a server may give to each client.
const SETTINGS: [&str; 2] = [
    "SET GLOBAL autocommit = 0, GLOBAL sql_safe_updates = 1",
    "SET GLOBAL init_connect = 'SET autocommit = 0'",
];

#[tokio::test]
async fn on_mariadb_locks_are_committed_whatever_the_defaults_of_the_session_are() {
    leasehold_sqlx::install_backends();
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
