//! Databases with test data.

use leasehold_sqlx::{Fence, FencingToken, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{MySqlPool, PgPool, SqlitePool};

const ITEMS: &str = "CREATE TABLE items (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL); \
     INSERT INTO items VALUES (1, 10), (2, 20), (3, 30), (4, 40)";

pub(crate) fn token(number: i64) -> FencingToken {
    FencingToken::try_from(number).unwrap()
}

pub(crate) fn fence(number: i64) -> Fence {
    Fence::new(token(number))
}

pub(crate) async fn sqlite() -> SqlitePool {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    sqlx::raw_sql(ITEMS).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    pool
}

pub(crate) async fn postgres() -> (PostgresServer, PgPool) {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    sqlx::raw_sql(ITEMS).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    (server, pool)
}

pub(crate) async fn mariadb() -> (MariaDbServer, MySqlPool) {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    sqlx::raw_sql(ITEMS).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    (server, pool)
}
