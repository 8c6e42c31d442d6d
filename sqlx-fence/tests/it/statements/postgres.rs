use leasehold_testkit::depth;
use leasehold_testkit::servers::PostgresServer;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use crate::statements::case::V::{I, T};
use crate::statements::case::{case, on};
use crate::statements::differential::differential;
use crate::statements::fuzz::{fuzz, fuzz_pool};
use crate::statements::judge::judge;
use crate::statements::random::{Flavour, Random, STATEMENTS};

judge!(
    sqlx::Postgres,
    PgPool,
    "SELECT concat_ws('|', 'i', id, owner, amount, note, doc) FROM items UNION ALL \
     SELECT concat_ws('|', 'o', id, item, factor) FROM others UNION ALL \
     SELECT concat_ws('|', 'w', id, \"select\", \"Wort\") FROM odd ORDER BY 1"
);

const SCHEMA: &str = r#"
CREATE SCHEMA shop;
CREATE TABLE items (id BIGINT PRIMARY KEY, owner TEXT, amount BIGINT, note TEXT, doc JSONB, tags TEXT[], fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE others (id BIGINT PRIMARY KEY, item BIGINT, factor BIGINT, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE TABLE odd (id BIGINT PRIMARY KEY, "select" TEXT, "Wort" TEXT, fencing_token BIGINT NOT NULL DEFAULT 0);
CREATE VIEW shop.items AS SELECT * FROM items;
INSERT INTO items SELECT n, 'o' || n % 3, n * 10, NULL, '{"a": {"b": 1}, "k": true}', '{x,y}' FROM generate_series(1, 9) n;
INSERT INTO others SELECT n, n, n % 2 FROM generate_series(1, 9) n;
INSERT INTO odd SELECT n, 'x', 'y' FROM generate_series(1, 3) n;
"#;

pub(crate) const CASES: &[Case] = &[
    case("UPDATE items SET amount = 1", &[]),
    case("UPDATE items SET amount = $1 WHERE id = $2", &[I(5), I(3)]),
    case("UPDATE items SET amount = $2 WHERE id = $1", &[I(3), I(5)]),
    case("update items set amount = $1 where id = $2", &[I(5), I(3)]),
    case(
        "UPDATE items SET amount = amount + $1, note = $2 WHERE id = $3 OR id = $4",
        &[I(5), T("n"), I(3), I(4)],
    ),
    case(
        "UPDATE items SET amount = $1 WHERE id = 1 OR id = 2 AND owner = 'o2'",
        &[I(1)],
    ),
    case(
        "UPDATE items SET amount = $1 WHERE id = $1 OR amount = $1",
        &[I(3)],
    ),
    case(
        "UPDATE items AS i SET amount = $1 WHERE i.id = $2",
        &[I(5), I(3)],
    ),
    case(
        "UPDATE items i SET amount = i.amount * 2 WHERE i.id < 4",
        &[],
    ),
    case("UPDATE public.items SET amount = 1 WHERE items.id = 2", &[]),
    case(
        "UPDATE public.items AS p SET amount = 1 WHERE p.id = 2",
        &[],
    ),
    case("UPDATE shop.items SET amount = 1 WHERE id = 2", &[]),
    case("UPDATE ONLY items SET amount = 1 WHERE id = 2", &[]),
    case("UPDATE \"items\" SET \"amount\" = 1 WHERE \"id\" = 2", &[]),
    case(
        "UPDATE odd SET \"select\" = $1, \"Wort\" = 'where' WHERE id = 1",
        &[T("set")],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id = 2 RETURNING id, amount",
        &[],
    ),
    case("UPDATE items SET amount = 1 RETURNING *", &[]),
    case(
        "UPDATE items SET amount = o.factor FROM others o WHERE o.item = items.id AND o.id = $1",
        &[I(3)],
    ),
    case(
        "UPDATE items i SET amount = o.factor FROM others AS o WHERE o.item = i.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = o.factor FROM others o JOIN odd w ON w.id = o.id WHERE o.item = items.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = s.f FROM (SELECT item, factor AS f FROM others WHERE factor = $1) s WHERE s.item = items.id AND items.id > $2",
        &[I(1), I(2)],
    ),
    case(
        "UPDATE items SET amount = (SELECT max(factor) FROM others WHERE item = items.id AND factor >= $1) WHERE id IN (SELECT item FROM others WHERE factor = $2)",
        &[I(0), I(1)],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE EXISTS (SELECT 1 FROM others o WHERE o.item = items.id AND o.factor = 1)",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = (1, 'x') WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = (SELECT factor, 'y' FROM others WHERE others.id = items.id) WHERE id < 4",
        &[],
    ),
    case(
        "WITH x AS (SELECT item FROM others WHERE factor = $1) UPDATE items SET amount = 0 WHERE id IN (SELECT item FROM x)",
        &[I(1)],
    ),
    case(
        "WITH x AS (SELECT item FROM others), y AS (SELECT item FROM x WHERE item > $2) UPDATE items SET amount = $1 FROM y WHERE y.item = items.id",
        &[I(1), I(4)],
    ),
    case(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) UPDATE items SET amount = 0 WHERE id IN (SELECT n FROM r)",
        &[],
    ),
    case(
        "UPDATE items SET amount = $1::int WHERE id = $2::text::bigint",
        &[I(5), T("3")],
    ),
    case(
        "UPDATE items SET amount = CAST($1 AS INT) WHERE id = CAST('3' AS BIGINT)",
        &[I(5)],
    ),
    case(
        "UPDATE items SET doc = doc || '{\"x\": 1}'::jsonb WHERE doc ? 'k'",
        &[],
    ),
    case(
        "UPDATE items SET doc = doc - 'k' WHERE doc ?| array['k', 'z'] AND doc ?& array['k']",
        &[],
    ),
    case(
        "UPDATE items SET doc = doc #- '{a,b}' WHERE doc #>> '{a,b}' = '1'",
        &[],
    ),
    case(
        "UPDATE items SET note = doc ->> 'k' WHERE doc -> 'a' ->> 'b' = '1' AND doc @> '{\"k\": true}'",
        &[],
    ),
    case(
        "UPDATE items SET note = 'y' WHERE doc @? '$.a.b ? (@ == 1)'",
        &[],
    ),
    case(
        "UPDATE items SET note = $$a 'quote' and $1 WHERE x$$ WHERE id = $1",
        &[I(1)],
    ),
    case(
        "UPDATE items SET note = $t$ $$ ; DROP $t$ WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = E'it\\'s -- no comment' WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'it''s ; WHERE 1 = 1 --' WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'a' -- a comment; WHERE\nWHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'a' /* FROM x WHERE */ WHERE /* y */ id = 1 /* end */",
        &[],
    ),
    case(
        "-- first\nUPDATE items /* i */ SET note = 'a' WHERE id = 1 -- last",
        &[],
    ),
    case(
        "UPDATE items SET note = 'ünïcödé 🦀' WHERE owner <> 'größe' AND id = 1",
        &[],
    ),
    case(
        "/* 🦀🦀 */ UPDATE items SET note = 'é' WHERE id = $1",
        &[I(2)],
    ),
    case("UPDATE items\r\nSET note = 'a'\r\nWHERE id = 1\r\n", &[]),
    case("UPDATE\titems\tSET\tnote = 'a'\tWHERE\tid = 1", &[]),
    case("UPDATE items SET note = 'a' WHERE id = 1;", &[]),
    case("UPDATE items SET note = 'a' WHERE id = 1 ; ; ", &[]),
    case("UPDATE items SET note = 'a';", &[]),
    case("UPDATE items SET note=('a')WHERE(id)=(1)", &[]),
    case(
        "UPDATE items SET note = CASE WHEN amount > $1 THEN 'big' ELSE 'small' END WHERE id BETWEEN 2 AND 4",
        &[I(30)],
    ),
    case(
        "UPDATE items SET note = CASE amount IS DISTINCT FROM 30 WHEN true THEN 'd' END WHERE owner IS NOT DISTINCT FROM 'o1'",
        &[],
    ),
    case(
        "UPDATE items SET amount = (amount IS DISTINCT FROM 30)::int WHERE id < 4",
        &[],
    ),
    case(
        "UPDATE items SET note = substring(owner FROM 1 FOR 1) WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = trim(BOTH 'o' FROM owner) WHERE position('o' IN owner) = 1",
        &[],
    ),
    case(
        "UPDATE items SET amount = EXTRACT(YEAR FROM TIMESTAMP '2026-01-01') WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET note = 'a' WHERE tags && ARRAY['x'] AND 'y' = ANY(tags)",
        &[],
    ),
    case(
        "UPDATE items SET amount = amount # 5, note = owner || $1 WHERE amount & 2 = 2 AND id % 2 = 0",
        &[T("-")],
    ),
    case(
        "UPDATE items SET amount = -amount WHERE id - -1 > 3 AND NOT id = 9",
        &[],
    ),
    case(
        "UPDATE items SET amount = NULL WHERE note IS NULL AND id IN ($1, $2, $3)",
        &[I(1), I(2), I(99)],
    ),
    case("UPDATE items SET amount = DEFAULT WHERE id = 1", &[]),
    case(
        "UPDATE items SET note = 'x' WHERE owner LIKE 'o%' ESCAPE '!' AND owner ~ '^o[12]$' AND owner !~* 'z'",
        &[],
    ),
    case(
        "UPDATE items SET note = coalesce(note, owner, $1) WHERE id = $2",
        &[T("q"), I(2)],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE (id, owner) = (1, 'o1')",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE id = ANY(ARRAY[1, 2]::bigint[])",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE id = (WITH w AS (SELECT 2 AS n) SELECT n FROM w)",
        &[],
    ),
    case("UPDATE items SET note = U&'\\0041' WHERE id = 1", &[]),
    case(
        "UPDATE items SET amount = 1 +/* ' */ 2 WHERE id = 3 -- '",
        &[],
    ),
    case("UPDATE items SET note = 'none' WHERE id = 99", &[]),
    on("items", "UPDATE items SET amount = 2 WHERE id = 2", &[]),
    on("i", "UPDATE items AS i SET amount = 2 WHERE id = 2", &[]),
    case("DELETE FROM items", &[]),
    case("DELETE FROM items WHERE id = $1 OR id = $2", &[I(1), I(2)]),
    case("DELETE FROM items AS i WHERE i.id = 1", &[]),
    case("DELETE FROM ONLY items WHERE id = 1", &[]),
    case(
        "DELETE FROM items USING others o WHERE o.item = items.id AND o.factor = $1",
        &[I(1)],
    ),
    case(
        "DELETE FROM items WHERE id IN (SELECT item FROM others WHERE factor = 1) RETURNING id;",
        &[],
    ),
    case(
        "DELETE FROM items USING others o JOIN odd w USING (id) WHERE o.item = items.id AND w.id > $1",
        &[I(1)],
    ),
    case(
        "WITH x AS (SELECT 1::bigint AS id) DELETE FROM items USING x WHERE x.id = items.id",
        &[],
    ),
];

#[tokio::test]
async fn on_postgres_fenced_statements_have_the_effect_of_plain_ones() {
    let server = PostgresServer::start().await.unwrap();
    let options: PgConnectOptions = server.url().parse().unwrap();
    // A damaged recursive query may not end.
    let options = options.options([("statement_timeout", "10s")]);
    let pool = PgPool::connect_with(options).await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    assert!(CASES.len() >= 75, "{}", CASES.len());
    for case in CASES
        .iter()
        .chain(crate::statements::common::POSTGRES)
        .chain(&crate::statements::common::built())
    {
        judge(&pool, case).await;
    }
    let mut random = Random::new(Flavour::Postgres);
    for _ in 0..depth::scaled(STATEMENTS) {
        judge(&pool, &random.statement()).await;
    }
    fuzz!(Postgres, pool, Random::new(Flavour::Postgres), CASES);
    fuzz_pool!(Postgres, pool, Random::new(Flavour::Postgres), CASES);
    for insert in crate::statements::inserts::COMMON
        .iter()
        .chain(crate::statements::inserts::POSTGRES)
    {
        judge_insert(&pool, insert).await;
    }
    pool.close().await;
}

#[tokio::test]
async fn on_postgres_stale_rows_are_those_a_plain_statement_would_change() {
    let server = PostgresServer::start().await.unwrap();
    let options: PgConnectOptions = server.url().parse().unwrap();
    // Without statistics, Postgres compiles small joins with its JIT, because it estimates them as large.
    let options = options.options([("jit", "off")]);
    let pool = PgPool::connect_with(options).await.unwrap();
    for schema in [
        crate::statements::joins::POSTGRES_SCHEMA,
        crate::statements::joins::VIEW,
    ] {
        sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    }
    differential!(Postgres, &pool, Flavour::Postgres);
    pool.close().await;
}
