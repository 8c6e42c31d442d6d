//! Tables of fences and records that must not be created, or cannot be used.

use leasehold_sqlx::{Error, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{MySqlPool, PgPool, SqlitePool, raw_sql};

/// Returns the problem of a table that cannot be used.
fn problem(refused: Result<(), Error>) -> String {
    match refused {
        Err(Error::Table { table, problem }) => format!("{table}: {problem}"),
        other => panic!("{other:?}"),
    }
}

/// Starts Postgres with the roles `one` and `two`, each with a schema of its own.
async fn two_schemas() -> (PostgresServer, PgPool, [String; 2]) {
    let server = PostgresServer::start().await.unwrap();
    let admin = PgPool::connect(&server.url()).await.unwrap();
    let roles = "CREATE ROLE one LOGIN; CREATE SCHEMA AUTHORIZATION one; \
         CREATE ROLE two LOGIN; CREATE SCHEMA AUTHORIZATION two";
    raw_sql(roles).execute(&admin).await.unwrap();
    let url = server.url();
    let host = url.split_once('@').unwrap().1.to_owned();
    let urls = ["one", "two"].map(|role| format!("postgres://{role}@{host}"));
    (server, admin, urls)
}

#[tokio::test]
async fn on_postgres_a_second_table_of_fences_or_records_is_refused_with_the_remedy() {
    let (_server, _admin, urls) = two_schemas().await;
    let one = PgPool::connect(&urls[0]).await.unwrap();
    let two = PgPool::connect(&urls[1]).await.unwrap();
    for _ in 0..2 {
        ddl::create_fences(&one).await.unwrap();
        ddl::create_idempotency_records(&one).await.unwrap();
        let fences = problem(ddl::create_fences(&two).await);
        assert!(fences.contains("`one.leasehold_fences`"), "{fences}");
        let records = problem(ddl::create_idempotency_records(&two).await);
        assert!(
            records.contains("`one.leasehold_idempotency_records`"),
            "{records}"
        );
    }
    // A second table that is meant is created by a migration.
    raw_sql(ddl::POSTGRES_FENCES).execute(&two).await.unwrap();
    ddl::create_fences(&two).await.unwrap();
}

#[tokio::test]
async fn on_postgres_a_table_with_other_columns_is_refused_by_name() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    let tables = "CREATE TABLE leasehold_fences (id INTEGER, area TEXT); \
         CREATE TABLE leasehold_idempotency_records (idempotency_key TEXT, token BIGINT)";
    raw_sql(tables).execute(&pool).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let fences = problem(ddl::create_fences(&mut *transaction).await);
    assert!(fences.contains("`resource`"), "{fences}");
    // The transaction goes on.
    let records = problem(ddl::create_idempotency_records(&mut *transaction).await);
    assert!(records.contains("`response`"), "{records}");
    transaction.rollback().await.unwrap();
}

#[tokio::test]
async fn on_sqlite_a_table_with_other_columns_is_refused_by_name() {
    let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
    let table = "CREATE TABLE leasehold_fences (id INTEGER, area TEXT)";
    raw_sql(table).execute(&pool).await.unwrap();
    let fences = problem(ddl::create_fences(&pool).await);
    assert!(fences.contains("`resource`"), "{fences}");
}

#[tokio::test]
async fn on_mariadb_a_table_with_other_columns_or_without_transactions_is_refused_by_name() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    let table = "CREATE TABLE leasehold_fences (id INTEGER, area TEXT)";
    raw_sql(table).execute(&pool).await.unwrap();
    let fences = problem(ddl::create_fences(&pool).await);
    assert!(fences.contains("`resource`"), "{fences}");

    let drop = raw_sql("DROP TABLE leasehold_fences");
    drop.execute(&pool).await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    // This engine has shorter keys.
    let engine = "ALTER TABLE leasehold_fences ROW_FORMAT=DEFAULT, ENGINE=MyISAM";
    raw_sql(engine).execute(&pool).await.unwrap();
    let fences = problem(ddl::create_fences(&pool).await);
    assert!(
        fences.contains("ALTER TABLE leasehold_fences ENGINE=InnoDB"),
        "{fences}"
    );
}

#[tokio::test]
async fn on_mariadb_tables_of_fences_and_records_need_no_default_row_format() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    let compact = "SET GLOBAL innodb_default_row_format = compact";
    raw_sql(compact).execute(&pool).await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    ddl::create_idempotency_records(&pool).await.unwrap();
}
