use leasehold_sqlx::ddl;
use leasehold_testkit::servers::PostgresServer;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::race::races;

races!(
    sqlx::Postgres,
    PgPool,
    "SELECT value FROM rows_of_races WHERE id = $1",
    "UPDATE rows_of_races SET value = $1 WHERE id = $2",
    |level| match level {
        None => "BEGIN".to_owned(),
        Some(Isolation::ReadCommitted) => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
        Some(Isolation::RepeatableRead) => "BEGIN ISOLATION LEVEL REPEATABLE READ".to_owned(),
        Some(Isolation::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE".to_owned(),
        Some(Isolation::ReadUncommitted) => "BEGIN ISOLATION LEVEL READ UNCOMMITTED".to_owned(),
    }
);

const SCHEMA: &str = "CREATE TABLE rows_of_races (id BIGINT PRIMARY KEY, value BIGINT NOT NULL); \
     INSERT INTO rows_of_races SELECT n, 0 FROM generate_series(0, 399) n";

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_a_fence_loses_nothing() {
    let server = PostgresServer::start().await.unwrap();
    let options = PgPoolOptions::new().max_connections(4);
    let pool = options.connect(&server.url()).await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "rows_of_races").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    let levels = [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ];
    for level in levels {
        assert!(
            lost(&pool, Means::Nothing, Some(level)).await > 0,
            "{level:?} races nothing"
        );
        assert_eq!(
            lost(&pool, Means::Statement, Some(level)).await,
            0,
            "{level:?}"
        );
        assert_eq!(
            lost(&pool, Means::Transaction, Some(level)).await,
            0,
            "{level:?}"
        );
    }
    let unprotected = lost(&pool, Means::ReadThenWrite, Some(Isolation::ReadCommitted)).await;
    assert!(unprotected > 0, "nothing to protect from");
    pool.close().await;
}
