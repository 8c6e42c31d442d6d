use leasehold_sqlx::ddl;
use leasehold_testkit::servers::MariaDbServer;
use sqlx::MySqlPool;
use sqlx::mysql::MySqlPoolOptions;

use crate::race::races;

races!(
    sqlx::MySql,
    MySqlPool,
    "SELECT value FROM rows_of_races WHERE id = ?",
    "UPDATE rows_of_races SET value = ? WHERE id = ?",
    |level| match level {
        None => "START TRANSACTION".to_owned(),
        Some(Isolation::ReadCommitted) =>
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION".to_owned(),
        Some(Isolation::RepeatableRead) =>
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION".to_owned(),
        Some(Isolation::Serializable) =>
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION".to_owned(),
        Some(Isolation::ReadUncommitted) =>
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; START TRANSACTION".to_owned(),
    }
);

const SCHEMA: &str = "CREATE TABLE rows_of_races (id BIGINT PRIMARY KEY, value BIGINT NOT NULL) ENGINE=InnoDB; \
     INSERT INTO rows_of_races SELECT seq, 0 FROM seq_0_to_399";

#[tokio::test(flavor = "multi_thread")]
async fn on_mariadb_a_fence_loses_nothing() {
    let server = MariaDbServer::start().await.unwrap();
    let options = MySqlPoolOptions::new().max_connections(4);
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
