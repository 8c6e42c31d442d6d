//! Transactions whose beginning is cut short.

use std::future::IntoFuture;
use std::time::Duration;

use leasehold_sqlx::ddl;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use tokio::time::timeout;

use crate::tools::fence;

/// The answer to BEGIN is held until nobody waits for it any more. What is written next on that connection must be there
/// for others.
macro_rules! dropped {
    ($options:ty, $server:expr) => {{
        let server = $server;
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let behind = server.url().replace(
            &format!(":{}", server.port()),
            &format!(":{}", proxy.port()),
        );
        assert_ne!(behind, server.url());
        // A connection that is looked at first would not have begun.
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
async fn on_postgres_nothing_that_is_confirmed_later_is_lost() {
    dropped!(PgPoolOptions, PostgresServer::start().await.unwrap());
}

#[tokio::test]
async fn on_mariadb_nothing_that_is_confirmed_later_is_lost() {
    dropped!(MySqlPoolOptions, MariaDbServer::start().await.unwrap());
}
