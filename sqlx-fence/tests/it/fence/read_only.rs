//! Writes to a database that takes none, such as the old primary after a switchover.

use leasehold_sqlx::{Error, Fence, FencedDatabase, FencingToken};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{MySqlPool, PgPool, Pool, raw_sql};

/// Checks that an error names the cause, and that nothing was written.
async fn is_told<DB: FencedDatabase>(pool: &Pool<DB>) {
    let fence = Fence::new(FencingToken::try_from(7).unwrap());
    let write = fence.query("UPDATE items SET name = 'new' WHERE id = 1");
    let refused = write.execute(pool).await.err().unwrap();
    assert!(matches!(refused, Error::ReadOnly(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("takes no writes") && text.contains("primary"),
        "{text}"
    );
}

const ITEMS: &str =
    "CREATE TABLE items (id INT PRIMARY KEY, name TEXT, fencing_token BIGINT NOT NULL DEFAULT 0)";

#[tokio::test]
async fn on_postgres_a_fenced_write_to_a_read_only_server_names_the_cause() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    raw_sql(ITEMS).execute(&pool).await.unwrap();
    let options = pool.connect_options().as_ref().clone();
    let options = options.options([("default_transaction_read_only", "on")]);
    is_told(&PgPool::connect_with(options).await.unwrap()).await;
}

#[tokio::test]
async fn on_mariadb_a_fenced_write_to_a_read_only_server_names_the_cause() {
    let server = MariaDbServer::start().await.unwrap();
    let admin = MySqlPool::connect(&server.url()).await.unwrap();
    for sql in [
        ITEMS,
        "CREATE USER app@localhost; GRANT ALL ON test.* TO app@localhost",
        "SET GLOBAL read_only = 1",
    ] {
        raw_sql(sql).execute(&admin).await.unwrap();
    }
    let url = server.url().replace("root@", "app@");
    is_told(&MySqlPool::connect(&url).await.unwrap()).await;
}
