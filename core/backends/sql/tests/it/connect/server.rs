//! Connects to Postgres and `MariaDB`.

use std::time::{Duration, Instant};

use leasehold::{ConnectError, LockManager};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{AssertSqlSafe, ConnectOptions, Database, Pool, raw_sql};
use tokio::net::TcpListener;

use super::{assert_shared, refusal, text};

/// The permissions on the table that a role needs.
const GRANT: &str = "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks TO ";

async fn execute<DB: Database>(pool: &Pool<DB>, statements: &[&str])
where
    for<'c> &'c mut DB::Connection: sqlx::Executor<'c, Database = DB>,
{
    let mut connection = pool.acquire().await.unwrap();
    for statement in statements {
        let statement = raw_sql(AssertSqlSafe((*statement).to_owned()));
        statement.execute(&mut *connection).await.unwrap();
    }
}

/// Connects as a role that may not create tables: first without the table, and then with it.
async fn needs_only_the_documented_permissions<DB: Database>(admin: &str, limited: &str, user: &str)
where
    DB::Connection: sqlx::Connection,
    <DB::Connection as sqlx::Connection>::Options: ConnectOptions,
    for<'c> &'c mut DB::Connection: sqlx::Executor<'c, Database = DB>,
{
    let refused = text(&refusal(limited).await);
    assert!(
        refused.contains("cannot create the table `leasehold_locks`"),
        "{refused}"
    );
    let pool: Pool<DB> = Pool::connect(admin).await.unwrap();
    let admin = LockManager::connect(admin).await.unwrap();
    execute(&pool, &[&format!("{GRANT}{user}")]).await;
    let limited = LockManager::connect(limited).await.unwrap();
    assert_shared(&limited, &admin).await;
}

#[tokio::test]
async fn postgres_urls_share_the_locks_of_a_table() {
    let server = PostgresServer::start().await.unwrap();
    let url = server.url();
    let one = LockManager::connect(&url).await.unwrap();
    let other = url.replace("postgres://", "postgresql://");
    let other = LockManager::builder().connect(&other).await.unwrap();
    assert_shared(&one, &other).await;

    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    execute(
        &pool,
        &[
            "CREATE DATABASE shop",
            "CREATE ROLE worker LOGIN PASSWORD 'secret'",
        ],
    )
    .await;
    let shop = url.replace("/postgres", "/shop");
    let shop = shop.replace("//shop@", "//postgres@");
    let limited = shop.replace("//postgres@", "//worker:secret@");
    needs_only_the_documented_permissions::<sqlx::Postgres>(&shop, &limited, "worker").await;

    let missing = refusal(&limited.replace("/shop", "/missing")).await;
    assert!(text(&missing).contains("\"missing\""), "{}", text(&missing));
    assert!(!missing.is_temporary());
    let ConnectError::Server { address, .. } = missing else {
        panic!("{missing:?}")
    };
    assert_eq!(address, format!("127.0.0.1:{}", server.port()));
}

#[tokio::test]
async fn mysql_and_mariadb_urls_share_the_locks_of_a_table() {
    let server = MariaDbServer::start().await.unwrap();
    let url = server.url();
    let one = LockManager::connect(&url).await.unwrap();
    let other = url.replace("mysql://", "mariadb://");
    let other = LockManager::builder().connect(&other).await.unwrap();
    assert_shared(&one, &other).await;

    let pool = sqlx::MySqlPool::connect(&url).await.unwrap();
    execute(
        &pool,
        &[
            "CREATE DATABASE shop",
            "CREATE USER worker@localhost IDENTIFIED BY 'secret'",
            "CREATE TABLE shop.orders (id INTEGER)",
            "GRANT SELECT ON shop.orders TO worker@localhost",
        ],
    )
    .await;
    let shop = url.replace("/test", "/shop");
    let limited = shop.replace("root@", "worker:secret@");
    needs_only_the_documented_permissions::<sqlx::MySql>(&shop, &limited, "worker@localhost").await;

    let refused = refusal(&url.replace("root@", "worker:secret2@")).await;
    assert!(
        text(&refused).contains("the database refused the connection"),
        "{}",
        text(&refused)
    );
}

#[tokio::test]
async fn unreachable_or_unresponsive_server_is_an_error_within_seconds() {
    for scheme in ["postgres", "mysql"] {
        let url = format!("{scheme}://me:secret@127.0.0.1:1/shop");
        let down = text(&refusal(&url).await);
        assert!(
            down.contains("connecting to 127.0.0.1:1 failed: the server cannot be reached"),
            "{down}"
        );
    }
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let begin = Instant::now();
    let late = text(&refusal(&format!("postgres://me:secret@{address}/shop")).await);
    assert!(late.contains("did not reply within 5s"), "{late}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn an_invalid_url_is_refused_with_the_remedy() {
    for (url, remedy) in [
        ("postgres:shop", "`://`"),
        ("postgres://me:@secret/secret@host/shop", "%2F"),
        ("postgres://me:12?secret@host/shop", "%3F"),
        ("mysql://me:12#secret@host/shop", "%23"),
        ("mysql://me:secret@host:port/shop", "port"),
    ] {
        let refused = refusal(url).await;
        assert!(matches!(refused, ConnectError::Url { .. }), "{refused:?}");
        assert!(text(&refused).contains(remedy), "{}", text(&refused));
    }
}

#[tokio::test]
async fn a_lazy_manager_connects_when_postgres_has_started() {
    let server = PostgresServer::start().await.unwrap();
    server.kill();
    let builder = LockManager::builder().backend_retry_timeout(Duration::MAX);
    let locks = builder.connect_lazily(&server.url()).unwrap();
    let acquiring = tokio::spawn(locks.lock("k").acquire().into_future());
    server.restart().await.unwrap();
    acquiring.await.unwrap().unwrap().release().await.unwrap();
    let eager = LockManager::connect(&server.url()).await.unwrap();
    assert_eq!(locks.capabilities(), eager.capabilities());
}

#[tokio::test]
async fn a_connect_is_repeated_until_postgres_has_started() {
    let server = PostgresServer::start().await.unwrap();
    server.kill();
    let url = server.url();
    let retry = LockManager::builder().connect_retry_timeout(Duration::MAX);
    let connecting = tokio::spawn(async move { retry.connect(&url).await });
    server.restart().await.unwrap();
    let locks = connecting.await.unwrap().unwrap();
    locks
        .lock("k")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}
