use leasehold_sqlx::ddl;
use leasehold_testkit::servers::PostgresServer;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::races::many::many;
use crate::races::race::races;

races!(
    sqlx::Postgres,
    PgPool,
    "SELECT value FROM rows_of_races WHERE id = $1",
    "UPDATE rows_of_races SET value = $1 WHERE id = $2",
    begin_at
);

fn begin_at(level: Option<Isolation>) -> String {
    match level {
        None => "BEGIN".to_owned(),
        Some(Isolation::ReadCommitted) => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
        Some(Isolation::RepeatableRead) => "BEGIN ISOLATION LEVEL REPEATABLE READ".to_owned(),
        Some(Isolation::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE".to_owned(),
        Some(Isolation::ReadUncommitted) => "BEGIN ISOLATION LEVEL READ UNCOMMITTED".to_owned(),
    }
}

many!(
    sqlx::Postgres,
    PgPool,
    begin_at,
    &[
        "UPDATE stock SET value = $1 WHERE id IN (1, 2)",
        "UPDATE stock SET value = $1 WHERE id = 2 OR id = 3",
        "UPDATE stock SET value = $1 WHERE id IN (SELECT id FROM (SELECT id FROM stock ORDER BY id DESC LIMIT 2) AS chosen)",
        "UPDATE stock SET value = $1 WHERE EXISTS (SELECT 1 FROM lots WHERE lots.id = stock.lot AND lots.part = 1)",
        "UPDATE stock SET value = $1 FROM lots WHERE lots.id = stock.lot AND lots.part = 2",
        "UPDATE stock AS s SET value = $1 FROM stock AS other WHERE other.id = s.id AND other.lot = 1",
        "WITH chosen AS (SELECT id FROM stock WHERE lot = 2 ORDER BY id FOR UPDATE) UPDATE stock SET value = $1 FROM chosen WHERE chosen.id = stock.id",
        "UPDATE shelf SET value = $1 WHERE id < 3 RETURNING id",
    ]
);

const STOCK: &str = "\
CREATE TABLE stock (id BIGINT PRIMARY KEY, lot BIGINT NOT NULL, value BIGINT NOT NULL, fencing_token BIGINT);\
CREATE TABLE lots (id BIGINT PRIMARY KEY, part BIGINT NOT NULL);\
INSERT INTO lots VALUES (1, 1), (2, 2);\
INSERT INTO stock (id, lot, value) VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0), (4, 2, 0);\
CREATE VIEW shelf AS SELECT * FROM stock WHERE lot = 1;\
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
IF NEW.fencing_token IS NULL OR NEW.fencing_token < OLD.fencing_token OR NEW.value <> NEW.fencing_token \
THEN RAISE EXCEPTION 'older'; END IF; RETURN NEW; END $$;\
CREATE TRIGGER refuse BEFORE UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION refuse();";

const SCHEMA: &str = "CREATE TABLE rows_of_races (id BIGINT PRIMARY KEY, value BIGINT NOT NULL); \
     INSERT INTO rows_of_races SELECT n, 0 FROM generate_series(0, 399) n";

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_racing_fenced_writes_lose_no_update() {
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

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_older_tokens_overwrite_no_row_and_return_stale() {
    let server = PostgresServer::start().await.unwrap();
    let options = PgPoolOptions::new().max_connections(4);
    // The default is to check for deadlocks only once a second.
    let url = format!("{}?options[deadlock_timeout]=10ms", server.url());
    let pool = options.connect(&url).await.unwrap();
    sqlx::raw_sql(STOCK).execute(&pool).await.unwrap();
    for level in [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ] {
        many(&pool, Some(level)).await;
    }
    pool.close().await;
}
