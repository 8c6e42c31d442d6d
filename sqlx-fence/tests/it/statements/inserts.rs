//! Statements that insert rows, and reads that a fenced pool must not confuse with writes.

use std::time::Duration;

use leasehold_sqlx::{Error, FencedDatabase, FencedPool};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Database, Pool};

/// Each writes into `items` or `odd`.
pub(crate) const COMMON: &[&str] = &[
    "INSERT INTO items (id, amount) VALUES (101, 1)",
    "insert into items(id,amount)values(101,1),(102,2) , (103, abs(-3));",
    "INSERT INTO items (id, note) VALUES (101, 'a, b) VALUES (''x'')'), (102, NULL) -- (1, 2)\n",
    "INSERT INTO items /* (x) */ (id, amount /* ) */) VALUES (101, (SELECT max(amount) FROM items))",
    "INSERT INTO items (id, amount) SELECT 101, 5",
    "INSERT INTO items (id, amount) SELECT id + 100, amount FROM items WHERE id > 4 ORDER BY id LIMIT 2",
    "INSERT INTO items (id, owner, amount) SELECT 100 + min(id), owner, sum(amount) FROM items GROUP BY owner",
    "INSERT INTO items (id, amount) SELECT DISTINCT 101, 7 FROM items",
    "INSERT INTO items (id, amount) SELECT i.id + 100, o.factor FROM items AS i JOIN others AS o ON o.item = i.id",
];

pub(crate) const POSTGRES: &[&str] = &[
    "INSERT INTO items AS i (id, amount) VALUES (101, DEFAULT) RETURNING i.id",
    "INSERT INTO items (id, amount) VALUES (1, 1), (101, 2) ON CONFLICT DO NOTHING",
    "INSERT INTO items (id, amount) VALUES (1, 1) ON CONFLICT (id) DO NOTHING RETURNING id",
    "INSERT INTO odd (id, \"select\", \"Wort\") VALUES (101, 'x', E'it\\'s')",
    "INSERT INTO public.items (id, tags) VALUES (101, ARRAY['a', 'b']), (102, '{c}'::text[])",
    "WITH n AS (SELECT 101 AS id) INSERT INTO items (id, amount) SELECT id, 1 FROM n",
    "INSERT INTO items (id, amount) WITH n AS (SELECT 101 AS id) SELECT id, 1 FROM n",
    "INSERT INTO items (id) SELECT 101 WHERE 1 IS NOT DISTINCT FROM 1",
];

pub(crate) const MYSQL: &[&str] = &[
    "INSERT IGNORE INTO items (id, amount) VALUES (1, 1), (101, 2)",
    "INSERT LOW_PRIORITY INTO items (id, amount) VALUE (101, 1)",
    "INSERT INTO test.items (`id`, `amount`) VALUES (101, DEFAULT)",
    "INSERT INTO odd (id, `select`, `Wort`) VALUES (101, \"x\", 'y')",
];

pub(crate) const SQLITE: &[&str] = &[
    "INSERT OR IGNORE INTO items (id, amount) VALUES (1, 1), (101, 2)",
    "INSERT OR ABORT INTO main.items (id, amount) VALUES (101, 1)",
    "INSERT INTO items (id, amount) VALUES (101, 1) ON CONFLICT (id) DO NOTHING RETURNING id",
    "INSERT INTO [odd] (id, [select], \"Wort\") VALUES (101, 'x', 'y')",
    "WITH n AS (SELECT 101 AS id) INSERT INTO items (id, amount) SELECT id, 1 FROM n",
];

/// What is sent unchanged.
const READS: &[&str] = &[
    "SELECT 1;",
    "select delete, \"update\" from permissions",
    "SELECT count(*) FROM items WHERE note = 'INSERT INTO items; DELETE FROM items'",
    "SELECT replace(note, 'a', 'b') FROM items -- FOR UPDATE\n",
    "SELECT substring(note FROM 1 FOR 2) FROM items",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
    "((SELECT 1) UNION (SELECT 2))",
    "EXPLAIN UPDATE items SET amount = 1",
    "VALUES (1), (2)",
];

/// What is not sent.
const WRITES: &[&str] = &[
    "",
    ";",
    "-- SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT * FROM (DELETE FROM items RETURNING id) AS gone",
    "WITH x AS (INSERT INTO items (id) VALUES (1) RETURNING id) SELECT * FROM x",
    "WITH x AS (UPDATE items SET id = 1 RETURNING id) SELECT * FROM x FOR UPDATE",
    "WITH x AS (SELECT 1) MERGE INTO items USING x ON true WHEN MATCHED THEN DELETE",
    "SELECT * INTO spare FROM items",
    "SELECT * FROM items FOR UPDATE",
    "SELECT * FROM items FOR NO KEY UPDATE SKIP LOCKED",
    "SELECT * FROM items WHERE id IN (SELECT id FROM others FOR SHARE)",
    "SELECT * FROM items LOCK IN SHARE MODE",
    "EXPLAIN (ANALYZE, BUFFERS) DELETE FROM items",
    "EXPLAIN ANALYZE SELECT 1",
    "INSERT INTO items DEFAULT VALUES",
    "INSERT INTO items (id) (SELECT 1)",
    "INSERT INTO items (id) SELECT 1 UNION SELECT 2",
    "INSERT INTO items (id, FENCING_TOKEN) VALUES (1, 2)",
    "MERGE INTO items USING others ON items.id = others.id WHEN MATCHED THEN DELETE",
    "TRUNCATE items",
    "LOCK TABLE items",
    "EXECUTE prepared",
    "GRANT ALL ON items TO public",
];

async fn is_refused<DB: FencedDatabase + Database>(pool: &Pool<DB>, sql: &'static str) -> bool
where
    DB::Arguments: sqlx::IntoArguments<DB>,
{
    let pool = FencedPool::new(pool.clone());
    let done = sqlx::query::<DB>(sql).execute(&pool).await.map(drop);
    match done.map_err(Error::from) {
        Err(Error::Rewrite { .. }) => true,
        Err(Error::Sqlx(_)) => false,
        other => panic!("{sql}: {other:?}"),
    }
}

#[tokio::test]
async fn fenced_pool_sends_reads_and_refuses_unfenceable_statements() {
    // What is sent fails, because there is no server.
    let soon = Duration::from_millis(1);
    let postgres = PgPoolOptions::new().acquire_timeout(soon);
    let postgres = postgres
        .connect_lazy("postgres://127.0.0.1:1/none")
        .unwrap();
    let mysql = MySqlPoolOptions::new().acquire_timeout(soon);
    let mysql = mysql.connect_lazy("mysql://127.0.0.1:1/none").unwrap();
    let sqlite = SqlitePoolOptions::new().acquire_timeout(soon);
    let sqlite = sqlite.connect_lazy("sqlite:///none/none").unwrap();
    for &sql in READS {
        assert!(!is_refused(&postgres, sql).await, "{sql}");
        assert!(!is_refused(&mysql, sql).await, "{sql}");
        assert!(!is_refused(&sqlite, sql).await, "{sql}");
    }
    for &sql in WRITES {
        assert!(is_refused(&postgres, sql).await, "{sql}");
        assert!(is_refused(&mysql, sql).await, "{sql}");
        assert!(is_refused(&sqlite, sql).await, "{sql}");
    }
    assert!(is_refused(&mysql, "SELECT 1 /*! FOR UPDATE */").await);
    assert!(is_refused(&mysql, "SELECT 'it\\'s' FROM items").await);
    assert!(is_refused(&sqlite, "SHOW TABLES").await);
    assert!(!is_refused(&mysql, "SHOW TABLES").await);
}
