use leasehold_testkit::depth;
use leasehold_testkit::servers::MariaDbServer;
use sqlx::MySqlPool;

use crate::statements::case::V::{I, T};
use crate::statements::case::{case, on};
use crate::statements::differential::differential;
use crate::statements::fuzz::{fuzz, fuzz_pool};
use crate::statements::judge::judge;
use crate::statements::random::{Flavour, Random, STATEMENTS};

judge!(
    sqlx::MySql,
    MySqlPool,
    "SELECT CAST(CONCAT_WS('|', 'i', id, owner, amount, note, doc) AS CHAR) AS line FROM items UNION ALL \
     SELECT CAST(CONCAT_WS('|', 'o', id, item, factor) AS CHAR) FROM others UNION ALL \
     SELECT CAST(CONCAT_WS('|', 'w', id, `select`, `Wort`) AS CHAR) FROM odd ORDER BY 1"
);

const SCHEMA: &str = r#"
ALTER DATABASE test CHARACTER SET utf8mb4;
CREATE TABLE items (id BIGINT PRIMARY KEY, owner VARCHAR(99), amount BIGINT, note VARCHAR(99), doc JSON, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE others (id BIGINT PRIMARY KEY, item BIGINT, factor BIGINT, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE odd (id BIGINT PRIMARY KEY, `select` VARCHAR(99), `Wort` VARCHAR(99), fencing_token BIGINT NOT NULL DEFAULT 0);
INSERT INTO items SELECT seq, CONCAT('o', seq % 3), seq * 10, NULL, '{"a": {"b": 1}}', 0 FROM seq_1_to_9;
INSERT INTO others SELECT seq, seq, seq % 2, 0 FROM seq_1_to_9;
INSERT INTO odd SELECT seq, 'x', 'y', 0 FROM seq_1_to_3;
"#;

pub(crate) const CASES: &[Case] = &[
    case("UPDATE items SET amount = 1", &[]),
    case("UPDATE items SET amount = ? WHERE id = ?", &[I(5), I(3)]),
    case(
        "UPDATE items SET amount = amount + ?, note = ? WHERE id = ? OR id = ?",
        &[I(5), T("n"), I(3), I(4)],
    ),
    case(
        "UPDATE items SET amount = ? WHERE id = 1 OR id = 2 AND owner = 'o2'",
        &[I(1)],
    ),
    case(
        "UPDATE items AS i SET i.amount = ? WHERE i.id = ?",
        &[I(5), I(3)],
    ),
    case(
        "UPDATE items i SET amount = i.amount * 2 WHERE i.id < 4",
        &[],
    ),
    case("UPDATE test.items SET amount = 1 WHERE items.id = 2", &[]),
    case("UPDATE `items` SET `amount` = 1 WHERE `id` = 2", &[]),
    case(
        "UPDATE odd SET `select` = ?, `Wort` = 'where' WHERE id = 1",
        &[T("set")],
    ),
    case(
        "UPDATE items SET amount = ? WHERE owner = ? ORDER BY id DESC",
        &[I(1), T("o1")],
    ),
    case("UPDATE items SET amount = ? ORDER BY amount", &[I(1)]),
    case(
        "UPDATE items SET amount = ? WHERE id IN (SELECT id FROM (SELECT id FROM items WHERE owner = ? ORDER BY id DESC LIMIT 2) AS chosen)",
        &[I(1), T("o1")],
    ),
    case(
        "UPDATE items SET amount = ? WHERE id IN (SELECT id FROM (SELECT id FROM items ORDER BY amount LIMIT ?) AS chosen)",
        &[I(1), I(3)],
    ),
    case("UPDATE items SET amount = 1 LIMIT 1", &[]),
    case("UPDATE items SET amount = 1 LIMIT 0", &[]),
    case(
        "UPDATE items SET amount = ? WHERE owner = ? LIMIT ?",
        &[I(1), T("o1"), I(9)],
    ),
    case(
        "UPDATE items i JOIN others o ON o.item = i.id SET i.amount = o.factor + ? WHERE o.id > ?",
        &[I(5), I(3)],
    ),
    case(
        "UPDATE items i JOIN others o ON o.item = i.id AND o.factor = ? SET i.amount = ?, i.note = ? WHERE o.id > ?",
        &[I(1), I(5), T("n"), I(3)],
    ),
    case(
        "UPDATE items i LEFT JOIN others o ON o.item = i.id + ? SET i.note = 'alone' WHERE o.id IS NULL",
        &[I(5)],
    ),
    case(
        "UPDATE others o INNER JOIN items i ON o.item = i.id SET i.amount = 0",
        &[],
    ),
    case(
        "UPDATE items i JOIN others o USING (id) SET i.amount = ? WHERE o.factor = ?",
        &[I(5), I(1)],
    ),
    case(
        "UPDATE items i JOIN (SELECT item FROM others WHERE factor = ?) s ON s.item = i.id SET i.amount = ?",
        &[I(1), I(2)],
    ),
    on(
        "i",
        "UPDATE items i JOIN others o ON o.item = i.id SET amount = ? WHERE o.factor = ?",
        &[I(5), I(1)],
    ),
    on(
        "i",
        "UPDATE others o JOIN items i ON o.item = i.id SET i.amount = ?, note = ?",
        &[I(5), T("x")],
    ),
    case(
        "UPDATE items SET amount = (SELECT max(factor) FROM others WHERE item = items.id AND factor >= ?) WHERE id IN (SELECT item FROM others WHERE factor = ?)",
        &[I(0), I(1)],
    ),
    case(
        "UPDATE items SET amount = CAST(? AS SIGNED) WHERE id = CONVERT('3', SIGNED)",
        &[I(5)],
    ),
    case(
        "UPDATE items SET doc = JSON_SET(doc, '$.a.b', ?) WHERE JSON_EXTRACT(doc, '$.a.b') = ?",
        &[I(5), I(1)],
    ),
    case(
        "UPDATE items SET note = 'what? no ? here' WHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = \"double ? quotes\" WHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'it''s; WHERE 1 = 1 --' WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'back\\\\slash \\n' WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'a' -- ? a comment; WHERE\nWHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'a' # ? another\nWHERE id = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = 'a' /* ? FROM x WHERE */ WHERE /* y */ id = ? /* end */",
        &[I(1)],
    ),
    case("UPDATE items SET amount = amount--1 WHERE id = 1", &[]),
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
        "UPDATE items SET note = IF(amount > ?, 'big', 'small') WHERE id <=> ?",
        &[I(30), I(2)],
    ),
    case(
        "UPDATE items SET amount = amount DIV 2 + amount % 3 WHERE NOT id = 9 AND id != 8",
        &[],
    ),
    case(
        "UPDATE items SET note = DATE_ADD('2026-01-01', INTERVAL ? DAY) WHERE id = 1",
        &[I(2)],
    ),
    case(
        "UPDATE items SET note = SUBSTRING(owner FROM 1 FOR 1) WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = TRIM(BOTH 'o' FROM owner) WHERE owner LIKE 'o%'",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE owner REGEXP '^o[12]$' AND owner COLLATE utf8mb4_bin = 'o1'",
        &[],
    ),
    case(
        "UPDATE items SET amount = NULL WHERE note IS NULL AND id IN (?, ?, ?)",
        &[I(1), I(2), I(99)],
    ),
    case("UPDATE items SET note = X'41' WHERE id = 0x1", &[]),
    case("UPDATE items SET note = 'none' WHERE id = ?", &[I(99)]),
    case("DELETE FROM items", &[]),
    case("DELETE FROM items WHERE id = ? OR id = ?", &[I(1), I(2)]),
    case(
        "DELETE FROM items WHERE id IN (SELECT id FROM (SELECT id FROM items WHERE owner = ? ORDER BY id DESC LIMIT ?) AS chosen)",
        &[T("o1"), I(1)],
    ),
    case("DELETE FROM items ORDER BY id DESC", &[]),
    case(
        "DELETE FROM items WHERE owner = ? LIMIT ?",
        &[T("o1"), I(9)],
    ),
    case(
        "DELETE FROM items WHERE owner = ? LIMIT ?",
        &[T("o1"), I(0)],
    ),
    case(
        "DELETE FROM items WHERE id IN (SELECT item FROM others WHERE factor = ?)",
        &[I(1)],
    ),
    case(
        "DELETE i FROM items i JOIN others o ON o.item = i.id WHERE o.factor = ?",
        &[I(1)],
    ),
    case("DELETE items FROM items WHERE id = ?;", &[I(1)]),
    case("DELETE i FROM items i JOIN others o USING (id)", &[]),
    case(
        "DELETE i FROM items i JOIN others o USING (id) WHERE o.factor = ? OR i.id > ?",
        &[I(1), I(7)],
    ),
    case(
        "DELETE i FROM others o JOIN items i USING (id) LEFT JOIN odd w USING (id) WHERE o.factor = ? AND w.id IS NULL",
        &[I(1)],
    ),
];

#[tokio::test]
async fn on_mariadb_fenced_statements_have_the_effect_of_plain_ones() {
    let server = MariaDbServer::start().await.unwrap();
    let url = format!("{}?socket={}", server.url(), server.socket().display());
    let pool = MySqlPool::connect(&url).await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    assert!(CASES.len() >= 50, "{}", CASES.len());
    for case in CASES
        .iter()
        .chain(crate::statements::common::MYSQL)
        .chain(&crate::statements::common::built())
    {
        judge(&pool, case).await;
    }
    let mut random = Random::new(Flavour::MySql);
    for _ in 0..depth::scaled(STATEMENTS) {
        judge(&pool, &random.statement()).await;
    }
    fuzz!(MySql, pool, Random::new(Flavour::MySql), CASES);
    fuzz_pool!(MySql, pool, Random::new(Flavour::MySql), CASES);
    for insert in crate::statements::inserts::COMMON
        .iter()
        .chain(crate::statements::inserts::MYSQL)
    {
        judge_insert(&pool, insert).await;
    }
    pool.close().await;
}

#[tokio::test]
async fn on_mariadb_stale_rows_are_those_a_plain_statement_would_change() {
    let server = MariaDbServer::start().await.unwrap();
    // Disable the statement cache, because MariaDB 10.11 fails or crashes when it executes some prepared statements
    // again.
    let url = format!(
        "{}?statement-cache-capacity=0&socket={}",
        server.url(),
        server.socket().display()
    );
    let pool = MySqlPool::connect(&url).await.unwrap();
    for schema in [
        crate::statements::joins::SCHEMA,
        crate::statements::joins::VIEW,
    ] {
        sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    }
    differential!(MySql, &pool, Flavour::MySql);
    pool.close().await;
}
