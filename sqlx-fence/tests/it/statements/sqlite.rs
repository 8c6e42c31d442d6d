use leasehold_testkit::depth;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

use crate::statements::case::V::{I, T};
use crate::statements::case::{case, on};
use crate::statements::differential::differential;
use crate::statements::fuzz::{fuzz, fuzz_pool};
use crate::statements::judge::judge;
use crate::statements::random::{Flavour, Random, STATEMENTS};

judge!(
    sqlx::Sqlite,
    SqlitePool,
    "SELECT 'i|' || id || '|' || owner || '|' || coalesce(amount, '-') || '|' || coalesce(note, '-') || '|' || doc AS line FROM items UNION ALL \
     SELECT 'o|' || id || '|' || item || '|' || factor FROM others UNION ALL \
     SELECT 'w|' || id || '|' || \"select\" || '|' || \"Wort\" FROM odd ORDER BY 1"
);

pub(crate) const SCHEMA: &str = r#"
CREATE TABLE items (id INTEGER PRIMARY KEY, owner TEXT, amount INTEGER, note TEXT, doc TEXT, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE others (id INTEGER PRIMARY KEY, item INTEGER, factor INTEGER, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE odd (id INTEGER PRIMARY KEY, "select" TEXT UNIQUE, "Wort" TEXT, fencing_token BIGINT NOT NULL DEFAULT 0);
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9)
INSERT INTO items SELECT n, 'o' || (n % 3), n * 10, NULL, '{"a": {"b": 1}}', 0 FROM s;
INSERT INTO others SELECT id, id, id % 2, 0 FROM items;
INSERT INTO odd SELECT id, 'x' || id, 'y', 0 FROM items WHERE id < 4;
CREATE INDEX by_owner ON items (owner);
"#;

pub(crate) const CASES: &[Case] = &[
    case("UPDATE items SET amount = 1", &[]),
    // A fence with `?3` next to these placeholders would update another row.
    case("UPDATE items SET amount = ? WHERE id = ?", &[I(5), I(3)]),
    case("UPDATE items SET amount = ?1 WHERE id = ?2", &[I(5), I(3)]),
    case("UPDATE items SET amount = ?2 WHERE id = ?1", &[I(3), I(5)]),
    case("UPDATE items SET amount = $1 WHERE id = $2", &[I(5), I(3)]),
    case(
        "UPDATE items SET amount = $2 WHERE id = $1 OR amount = $2",
        &[I(3), I(50)],
    ),
    case(
        "UPDATE items SET amount = amount + ?, note = ? WHERE id = ? OR id = ?",
        &[I(5), T("n"), I(3), I(4)],
    ),
    case(
        "UPDATE items SET amount = ? WHERE id = 1 OR id = 2 AND owner = 'o2'",
        &[I(1)],
    ),
    case(
        "UPDATE items AS i SET amount = ? WHERE i.id = ?",
        &[I(5), I(3)],
    ),
    case("UPDATE main.items SET amount = 1 WHERE items.id = 2", &[]),
    case(
        "UPDATE [items] SET [amount] = 1 WHERE `id` = 2 AND \"id\" > 1",
        &[],
    ),
    case(
        "UPDATE odd SET \"select\" = ?, [Wort] = 'where' WHERE id = 1",
        &[T("set")],
    ),
    case("UPDATE OR IGNORE odd SET \"select\" = 'x1'", &[]),
    case(
        "UPDATE OR ABORT items SET amount = ? WHERE id = ?",
        &[I(1), I(2)],
    ),
    case("UPDATE OR FAIL items SET amount = 1 WHERE id = 2", &[]),
    case(
        "UPDATE items SET amount = 1 WHERE id = 2 RETURNING id, amount",
        &[],
    ),
    case(
        "UPDATE items SET amount = o.factor FROM others AS o WHERE o.item = items.id AND o.id = ?",
        &[I(3)],
    ),
    case(
        "UPDATE items SET amount = s.f FROM (SELECT item, factor AS f FROM others WHERE factor = ?) AS s WHERE s.item = items.id AND items.id > ?",
        &[I(1), I(2)],
    ),
    case(
        "UPDATE items SET amount = (SELECT max(factor) FROM others WHERE item = items.id AND factor >= ?) WHERE id IN (SELECT item FROM others WHERE factor = ?)",
        &[I(0), I(1)],
    ),
    case(
        "UPDATE items SET (amount, note) = (1, 'x') WHERE id = 1",
        &[],
    ),
    case(
        "WITH x AS (SELECT item FROM others WHERE factor = ?) UPDATE items SET amount = ? WHERE id IN (SELECT item FROM x) AND id > ?",
        &[I(1), I(2), I(3)],
    ),
    case(
        "UPDATE items SET amount = CAST(? AS INTEGER) WHERE id = CAST('3' AS INTEGER)",
        &[I(5)],
    ),
    case(
        "UPDATE items SET note = json_extract(doc, '$.a.b') WHERE doc ->> '$.a.b' = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'what? $1 ?2 :x' WHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'it''s; WHERE 1 = 1 --' WHERE id = 1",
        &[],
    ),
    case("UPDATE items SET note = 'back\\' WHERE id = ?", &[I(1)]),
    case(
        "UPDATE items SET note = 'a' -- ? a comment; WHERE\nWHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'a' /* ? WHERE */ WHERE id = ? /* end */",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'ünïcödé 🦀' WHERE owner <> 'größe' AND id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items\r\nSET note = 'a'\r\nWHERE id = ?\r\n",
        &[I(1)],
    ),
    case("UPDATE items SET note = 'a' WHERE id = 1;", &[]),
    case("UPDATE items SET note=('a')WHERE(id)=(?)", &[I(1)]),
    case(
        "UPDATE items SET note = CASE WHEN amount > ? THEN 'big' ELSE 'small' END WHERE id BETWEEN ? AND ?",
        &[I(30), I(2), I(4)],
    ),
    case(
        "UPDATE items SET amount = amount IS NOT DISTINCT FROM 30 WHERE id < ?",
        &[I(5)],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE owner GLOB 'o[12]' AND owner LIKE 'O%' AND note IS NULL",
        &[],
    ),
    case(
        "UPDATE items SET amount = -amount, note = owner || ? WHERE id - -1 > 3 AND NOT id = 9",
        &[T("-")],
    ),
    case(
        "UPDATE items SET amount = NULL WHERE note IS NULL AND id IN (?, ?, ?)",
        &[I(1), I(2), I(99)],
    ),
    case("UPDATE items SET note = X'41' WHERE id = 0x1", &[]),
    case("UPDATE items SET note = 'none' WHERE id = ?", &[I(99)]),
    on(
        "i",
        "UPDATE items AS i SET amount = 2 WHERE id = ?",
        &[I(2)],
    ),
    // SQLite joins the further tables with each other first, and not with the written table.
    case(
        "UPDATE items SET amount = ? FROM others o JOIN odd w USING (id) WHERE w.id = items.id AND o.factor = ?",
        &[I(5), I(1)],
    ),
    case(
        "UPDATE items SET amount = ? FROM others o NATURAL JOIN odd w WHERE o.item = items.id",
        &[I(5)],
    ),
    case(
        "UPDATE items SET amount = ? FROM odd w RIGHT JOIN others o ON o.id = w.id AND o.factor = ? WHERE o.item = items.id AND w.id IS NULL",
        &[I(5), I(1)],
    ),
    case(
        "UPDATE items SET amount = ? FROM others o FULL JOIN odd w ON o.id = w.id + ? WHERE items.id = 1",
        &[I(5), I(100)],
    ),
    case(
        "UPDATE items SET amount = ? FROM others o, odd v LEFT JOIN odd w ON factor = w.id WHERE v.id = items.id AND o.factor = ?",
        &[I(5), I(1)],
    ),
    case(
        "WITH odd AS (SELECT item AS id FROM others WHERE factor = ?) UPDATE items SET amount = 1 FROM odd WHERE odd.id = items.id",
        &[I(1)],
    ),
    case(
        "WITH items AS (SELECT 1 AS id) UPDATE main.items AS i SET amount = 1 WHERE i.id IN (SELECT id FROM items)",
        &[],
    ),
    case("DELETE FROM items", &[]),
    case("DELETE FROM items WHERE id = ? OR id = ?", &[I(1), I(2)]),
    case("DELETE FROM items AS i WHERE i.id = ?1", &[I(1)]),
    case(
        "DELETE FROM items WHERE id IN (SELECT item FROM others WHERE factor = ?) RETURNING id;",
        &[I(1)],
    ),
    case(
        "WITH x AS (SELECT ? AS id) DELETE FROM items WHERE id IN (SELECT id FROM x)",
        &[I(2)],
    ),
];

#[tokio::test]
async fn on_sqlite_fenced_statements_have_the_effect_of_plain_ones() {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    assert!(CASES.len() >= 45, "{}", CASES.len());
    for case in CASES
        .iter()
        .chain(crate::statements::common::SQLITE)
        .chain(&crate::statements::common::built())
    {
        judge(&pool, case).await;
    }
    let mut random = Random::new(Flavour::Sqlite);
    for _ in 0..depth::scaled(STATEMENTS) {
        judge(&pool, &random.statement()).await;
    }
    fuzz!(Sqlite, pool, Random::new(Flavour::Sqlite), CASES);
    fuzz_pool!(Sqlite, pool, Random::new(Flavour::Sqlite), CASES);
    for insert in crate::statements::inserts::COMMON
        .iter()
        .chain(crate::statements::inserts::SQLITE)
    {
        judge_insert(&pool, insert).await;
    }
}

#[tokio::test]
async fn on_sqlite_stale_rows_are_those_a_plain_statement_would_change() {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    sqlx::raw_sql(crate::statements::joins::SCHEMA)
        .execute(&pool)
        .await
        .unwrap();
    differential!(Sqlite, &pool, Flavour::Sqlite);
}
