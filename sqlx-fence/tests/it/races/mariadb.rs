use leasehold_sqlx::ddl;
use leasehold_testkit::servers::MariaDbServer;
use sqlx::MySqlPool;
use sqlx::mysql::MySqlPoolOptions;

use crate::races::many::many;
use crate::races::race::races;

races!(
    sqlx::MySql,
    MySqlPool,
    "SELECT value FROM rows_of_races WHERE id = ?",
    "UPDATE rows_of_races SET value = ? WHERE id = ?",
    begin_at
);

fn begin_at(level: Option<Isolation>) -> String {
    match level {
        None => "START TRANSACTION".to_owned(),
        Some(Isolation::ReadCommitted) => {
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION".to_owned()
        }
        Some(Isolation::RepeatableRead) => {
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION".to_owned()
        }
        Some(Isolation::Serializable) => {
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION".to_owned()
        }
        Some(Isolation::ReadUncommitted) => {
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; START TRANSACTION".to_owned()
        }
    }
}

many!(
    sqlx::MySql,
    MySqlPool,
    begin_at,
    &[
        "UPDATE stock SET value = ? WHERE id IN (1, 2)",
        "UPDATE stock SET value = ? WHERE id = 2 OR id = 3",
        "UPDATE stock SET value = ? WHERE id IN (SELECT id FROM (SELECT id FROM stock ORDER BY id DESC LIMIT 2) AS chosen)",
        "UPDATE stock SET value = ? WHERE EXISTS (SELECT 1 FROM lots WHERE lots.id = stock.lot AND lots.part = 1)",
        "UPDATE stock JOIN lots ON lots.id = stock.lot SET stock.value = ? WHERE lots.part = 2",
        "UPDATE stock AS s JOIN stock AS other ON other.id = s.id SET s.value = ? WHERE other.lot = 1",
        "UPDATE shelf SET value = ? WHERE id < 3",
    ]
);

const STOCK: &str = "\
CREATE TABLE stock (id BIGINT PRIMARY KEY, lot BIGINT NOT NULL, value BIGINT NOT NULL, fencing_token BIGINT) ENGINE=InnoDB;\
CREATE TABLE lots (id BIGINT PRIMARY KEY, part BIGINT NOT NULL);\
INSERT INTO lots VALUES (1, 1), (2, 2);\
INSERT INTO stock (id, lot, value) VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0), (4, 2, 0);\
CREATE VIEW shelf AS SELECT * FROM stock WHERE lot = 1;\
CREATE TRIGGER refuse BEFORE UPDATE ON stock FOR EACH ROW \
IF NEW.fencing_token IS NULL OR NEW.fencing_token < OLD.fencing_token OR NEW.value <> NEW.fencing_token \
THEN SIGNAL SQLSTATE '45000'; END IF;";

const SCHEMA: &str = "CREATE TABLE rows_of_races (id BIGINT PRIMARY KEY, value BIGINT NOT NULL) ENGINE=InnoDB; \
     INSERT INTO rows_of_races SELECT seq, 0 FROM seq_0_to_399";

#[tokio::test(flavor = "multi_thread")]
async fn on_mariadb_racing_fenced_writes_lose_no_update() {
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

#[tokio::test(flavor = "multi_thread")]
async fn on_mariadb_older_tokens_overwrite_no_row_and_return_stale() {
    let server = MariaDbServer::start().await.unwrap();
    let options = MySqlPoolOptions::new().max_connections(4);
    let pool = options.connect(&server.url()).await.unwrap();
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
