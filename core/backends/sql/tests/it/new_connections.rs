//! Connections that were dropped silently, and servers that refuse new connections.

use std::error::Error as _;
use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::sql::{LockDatabase, SqlBackend, ddl};
use leasehold::backend::{Applied, BackendError};
use leasehold::{Error, LockManager};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{Connection, Database, MySql, MySqlPool, PgPool, Pool, Postgres, raw_sql};
use tokio::time::sleep;

use crate::pools::{fill, port, through};
use crate::{mariadb, postgres};

/// Longer than an unused connection stays untested.
const UNUSED: Duration = Duration::from_millis(1100);

/// Many times what an operation needs. A test of a connection that does not reply would use it up.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

async fn survives_silence<DB: LockDatabase>(backend: SqlBackend<DB>, proxy: &Proxy) {
    let locks = LockManager::builder()
        .command_timeout(COMMAND_TIMEOUT)
        .backend_retry_timeout(Duration::ZERO)
        .build(backend)
        .unwrap();
    fill(&locks).await;
    sleep(UNUSED).await;
    proxy.silence();
    for key in 0..4 {
        let guard = locks.lock(format!("after:{key}")).try_acquire().await;
        guard.unwrap().unwrap().release().await.unwrap();
    }
}

async fn proxied_postgres() -> (Proxy, String) {
    let url = postgres::url().await;
    let proxy = Proxy::start_bytes(port(&url)).await.unwrap();
    let url = through(&url, &proxy);
    (proxy, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_silently_dropped_connections_delay_no_operation_beyond_its_timeout() {
    let (proxy, url) = proxied_postgres().await;
    survives_silence(SqlBackend::<Postgres>::connect(&url).await.unwrap(), &proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_silently_dropped_connections_of_the_programs_pool_are_replaced() {
    let (proxy, url) = proxied_postgres().await;
    let pool = PgPool::connect(&url).await.unwrap();
    survives_silence(SqlBackend::new(pool), &proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_silently_dropped_connections_delay_no_operation_beyond_its_timeout() {
    let url = mariadb::url().await;
    let proxy = Proxy::start_bytes(port(&url)).await.unwrap();
    let url = through(&url, &proxy);
    survives_silence(SqlBackend::<MySql>::connect(&url).await.unwrap(), &proxy).await;
}

/// Uses all connections of a server.
async fn all_connections<DB: Database>(url: &str) -> Vec<DB::Connection> {
    let mut all = Vec::new();
    while let Ok(connection) = DB::Connection::connect(url).await {
        all.push(connection);
    }
    all
}

/// Tries to acquire a lock with a new connection, and checks that the error has the reason of the server.
async fn is_refused<DB: LockDatabase>(pool: Pool<DB>, reason: &str) {
    let locks = LockManager::builder()
        .command_timeout(COMMAND_TIMEOUT)
        .build(SqlBackend::new(pool))
        .unwrap();
    let refused = locks.lock("k").try_acquire().await.unwrap_err();
    let Error::Backend {
        applied, source, ..
    } = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!(applied, Applied::No);
    assert!(source.is_temporary());
    let cause = chain(&source);
    assert!(cause.contains(reason), "{cause}");
}

/// Returns the messages of an error and of its sources.
fn chain(error: &BackendError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_too_many_clients_are_named() {
    let few = PostgresServer::builder()
        .setting("max_connections=4")
        .setting("superuser_reserved_connections=0")
        .setting("max_wal_senders=0");
    let server = few.start().await.unwrap();
    let admin = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&admin).await.unwrap();
    let _all = all_connections::<Postgres>(&server.url()).await;
    let pool = PgPool::connect_lazy(&server.url()).unwrap();
    is_refused(pool, "too many clients").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_too_many_clients_are_named() {
    let server = MariaDbServer::start().await.unwrap();
    let admin = MySqlPool::connect(&server.url()).await.unwrap();
    for sql in [
        "SET GLOBAL max_connections = 10",
        "CREATE USER app@localhost; GRANT ALL ON test.* TO app@localhost",
    ] {
        raw_sql(sql).execute(&admin).await.unwrap();
    }
    ddl::create_locks(&admin).await.unwrap();
    let url = server.url().replace("root@", "app@");
    let _all = all_connections::<MySql>(&url).await;
    is_refused(
        MySqlPool::connect_lazy(&url).unwrap(),
        "Too many connections",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_stopped_server_is_named() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect_lazy(&server.url()).unwrap();
    server.kill();
    is_refused(pool, "refused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_operations_share_the_few_connections_of_a_role() {
    let server = PostgresServer::start().await.unwrap();
    let admin = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&admin).await.unwrap();
    for sql in [
        "CREATE ROLE few LOGIN CONNECTION LIMIT 3",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks TO few",
    ] {
        raw_sql(sql).execute(&admin).await.unwrap();
    }
    let url = server.url().replace("postgres@", "few@");
    // A pool of sqlx would repeat a refused connect for up to six seconds.
    let locks = LockManager::builder()
        .command_timeout(Duration::from_secs(5))
        .backend_retry_timeout(Duration::ZERO)
        .build(SqlBackend::new(PgPool::connect_lazy(&url).unwrap()))
        .unwrap();
    let pairs = (0..12).map(|key| {
        let acquire = locks.lock(format!("few:{key}")).acquire();
        async { acquire.await.unwrap().release().await.unwrap() }
    });
    join_all(pairs).await;
}
