//! Tables that a connection must not create, or cannot use.

use futures_util::future::join_all;
use leasehold::LockManager;
use leasehold::backend::sql::ddl;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{MySqlPool, PgPool, SqlitePool, raw_sql};

use super::{assert_shared, refusal, text};

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
async fn on_postgres_a_second_lock_table_in_another_schema_is_refused_with_the_remedy() {
    let (_server, admin, [one, two]) = two_schemas().await;
    let first = LockManager::connect(&one).await.unwrap();
    let refused = text(&refusal(&two).await);
    for part in ["`one.leasehold_locks`", "`search_path`"] {
        assert!(refused.contains(part), "{refused}");
    }

    // With the remedy, both roles use one table.
    let remedy = "ALTER ROLE two SET search_path = one; GRANT USAGE ON SCHEMA one TO two; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON one.leasehold_locks TO two";
    raw_sql(remedy).execute(&admin).await.unwrap();
    let second = LockManager::connect(&two).await.unwrap();
    assert_shared(&first, &second).await;
}

/// Lets all pools create the lock table concurrently, and drops it, 100 times.
macro_rules! create_at_once {
    ($pools:expr) => {
        let pools = join_all($pools).await;
        for _ in 0..100 {
            for created in join_all(pools.iter().map(ddl::create_locks)).await {
                created.unwrap();
            }
            let empty = raw_sql("DROP TABLE leasehold_locks");
            empty.execute(&pools[0]).await.unwrap();
        }
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_processes_that_create_the_table_at_once_find_no_second_one() {
    let server = PostgresServer::start().await.unwrap();
    let pools = (0..8).map(async |_| PgPool::connect(&server.url()).await.unwrap());
    create_at_once!(pools);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_processes_can_create_the_table_at_once() {
    let server = MariaDbServer::start().await.unwrap();
    let pools = (0..8).map(async |_| MySqlPool::connect(&server.url()).await.unwrap());
    create_at_once!(pools);
}

#[tokio::test]
async fn on_postgres_a_table_without_rights_is_not_replaced_by_another_one() {
    let (_server, admin, [one, two]) = two_schemas().await;
    ddl::create_locks(&admin).await.unwrap();
    let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON public.leasehold_locks TO one";
    raw_sql(grant).execute(&admin).await.unwrap();
    let locks = LockManager::connect(&one).await.unwrap();
    let refused = text(&refusal(&two).await);
    assert!(
        refused.contains("GRANT SELECT, INSERT, UPDATE, DELETE"),
        "{refused}"
    );
    let count = "SELECT COUNT(*) FROM pg_class WHERE relname = 'leasehold_locks'";
    let count: i64 = sqlx::query_scalar(count).fetch_one(&admin).await.unwrap();
    assert_eq!(count, 1);
    locks.shutdown().await.unwrap();
}

#[tokio::test]
async fn on_postgres_a_table_with_other_columns_is_refused_by_name() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    let table = "CREATE TABLE leasehold_locks (lock_key TEXT, version BIGINT)";
    raw_sql(table).execute(&pool).await.unwrap();
    let locks = text(&refusal(&server.url()).await);
    assert!(locks.contains("`owner`"), "{locks}");
}

#[tokio::test]
async fn on_sqlite_a_table_with_other_columns_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("locks.db").display());
    let pool = SqlitePool::connect(&format!("{url}?mode=rwc"))
        .await
        .unwrap();
    let table = "CREATE TABLE leasehold_locks (lock_key TEXT, version BIGINT)";
    raw_sql(table).execute(&pool).await.unwrap();
    let locks = text(&refusal(&url).await);
    assert!(locks.contains("`owner`"), "{locks}");
}

#[tokio::test]
async fn on_mariadb_a_table_with_other_columns_or_without_transactions_is_refused_by_name() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    let table = "CREATE TABLE leasehold_locks (lock_key VARBINARY(99), version BIGINT)";
    raw_sql(table).execute(&pool).await.unwrap();
    let locks = text(&refusal(&server.url()).await);
    assert!(locks.contains("`owner`"), "{locks}");

    let drop = raw_sql("DROP TABLE leasehold_locks");
    drop.execute(&pool).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    // This engine has shorter keys.
    let engine = "ALTER TABLE leasehold_locks MODIFY lock_key VARBINARY(512), ROW_FORMAT=DEFAULT, ENGINE=MyISAM";
    raw_sql(engine).execute(&pool).await.unwrap();
    let locks = text(&refusal(&server.url()).await);
    assert!(locks.contains("ENGINE=InnoDB"), "{locks}");
}

#[tokio::test]
async fn on_mariadb_long_keys_fit_whatever_the_default_row_format_is() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    let compact = "SET GLOBAL innodb_default_row_format = compact";
    raw_sql(compact).execute(&pool).await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let guard = locks.lock("k".repeat(500)).acquire().await.unwrap();
    guard.release().await.unwrap();
}
