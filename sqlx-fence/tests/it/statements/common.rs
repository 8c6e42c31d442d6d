//! Statements that are valid on each database, and that the random grammar does not generate.

use crate::statements::case::V::{I, T};
use crate::statements::case::{Case, case, on};

pub(crate) const POSTGRES: &[Case] = &[
    case(
        "UPDATE items SET amount = 1 WHERE id IN (SELECT id FROM items ORDER BY id LIMIT 2 FOR NO KEY UPDATE SKIP LOCKED)",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id IN (SELECT id FROM others ORDER BY id LIMIT 2 FOR KEY SHARE)",
        &[],
    ),
    case(
        "UPDATE items SET doc['x'] = $1::bigint::text::jsonb WHERE id = 2",
        &[I(4)],
    ),
    case(
        "UPDATE items SET amount = 3, doc['a']['b'] = ('5' || '6')::jsonb, note = 'n' WHERE id < 3",
        &[],
    ),
    case(
        "UPDATE items SET doc[$1::bigint::text] = '5' WHERE id < $2",
        &[I(1), I(3)],
    ),
    case("UPDATE items SET tags[2] = 'z' WHERE tags[1] = 'x'", &[]),
    case(
        "UPDATE items SET tags[array_length(tags, 1)] = 'z' WHERE id = 1",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id BETWEEN SYMMETRIC 5 AND 2",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id NOT BETWEEN ASYMMETRIC 5 AND 2 OR amount = 20",
        &[],
    ),
    case("UPDATE ONLY items SET amount = 1 WHERE id = 2", &[]),
    case("UPDATE ONLY items AS i SET amount = 1 WHERE i.id = 2", &[]),
    case(
        "UPDATE only public.items i SET amount = 1 FROM only others o WHERE i.id = o.item AND o.id < 3",
        &[],
    ),
    case("DELETE FROM ONLY public.items AS i WHERE i.id = 2", &[]),
    case("DELETE FROM ONLY (items) WHERE id = 2", &[]),
    case(
        "DELETE FROM items USING ONLY others o, ONLY odd w WHERE o.item = items.id AND w.id = o.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = amount << 2 | 1 >> 1 WHERE id = 2",
        &[],
    ),
    case("UPDATE items SET note = E'C:\\\\' WHERE id = 2", &[]),
    case(
        "UPDATE items SET note = U&'\\0041' WHERE note ISNULL OR note NOTNULL",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = (1, 'n') WHERE id = 2",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = ROW(1, 'n') WHERE id = 2",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = (SELECT factor, 'n' FROM others WHERE item = items.id) WHERE id < 4",
        &[],
    ),
    case(
        "UPDATE items SET doc = doc - 'a' WHERE doc @> '{\"a\": {}}' AND doc ? 'a' AND doc #>> '{a,b}' = '1'",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE now() - interval '1 day' < now() AT TIME ZONE 'UTC'",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE owner ILIKE ANY (ARRAY['O1', 'o2']) AND owner SIMILAR TO 'o[12]'",
        &[],
    ),
    case(
        "WITH x AS MATERIALIZED (SELECT 2 AS id) UPDATE items SET amount = 1 FROM x WHERE x.id = items.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = x.v FROM (VALUES (1, 5), (2, 6)) AS x (id, v) WHERE x.id = items.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = x.v FROM unnest(ARRAY[1, 2], ARRAY[5, 6]) AS x (id, v) WHERE x.id = items.id",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE EXISTS (SELECT FROM others WHERE item = items.id AND factor = 1)",
        &[],
    ),
    case(
        "UPDATE items SET note = owner COLLATE \"C\" WHERE owner < 'o2' COLLATE \"C\"",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE (id, amount) IN ((1, 10), (2, 20))",
        &[],
    ),
    case(
        "UPDATE items SET amount = (2 ^ 3)::int # 1 WHERE id % 2 = 1 AND amount <> ALL (ARRAY[10, 30])",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id = 2 RETURNING *, amount AS now",
        &[],
    ),
];

pub(crate) const MYSQL: &[Case] = &[
    case(
        "UPDATE items i, others o SET i.amount = o.factor + ? WHERE o.item = i.id AND o.id > ?",
        &[I(5), I(3)],
    ),
    on(
        "i",
        "UPDATE items i, others o SET amount = ? WHERE o.item = i.id",
        &[I(5)],
    ),
    case(
        "UPDATE others o, items i LEFT JOIN odd w ON w.id = i.id SET i.amount = 5 WHERE o.item = i.id AND w.id IS NULL",
        &[],
    ),
    case(
        "DELETE FROM i USING items i JOIN others o ON o.item = i.id WHERE o.factor = ?",
        &[I(1)],
    ),
    case(
        "DELETE FROM items USING items JOIN others USING (id) WHERE others.factor = ?",
        &[I(1)],
    ),
    case(
        "DELETE FROM items USING items, others o WHERE o.item = items.id AND o.factor = ?",
        &[I(1)],
    ),
    case(
        "DELETE i FROM items i, others o WHERE o.item = i.id AND o.factor = ?",
        &[I(1)],
    ),
    case(
        "UPDATE items i JOIN JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j ON j.id = i.id SET i.amount = ?",
        &[T("[2, 3]"), I(5)],
    ),
    case(
        "DELETE i FROM items i JOIN (others o JOIN odd w ON w.id = o.id) ON o.item = i.id WHERE o.factor = ?",
        &[I(1)],
    ),
    on(
        "i",
        "UPDATE others o JOIN (items i JOIN odd w USING (id)) ON o.item = i.id SET amount = ?",
        &[I(5)],
    ),
    case(
        "UPDATE items SET amount = amount MOD 3 + MOD(amount, 4) WHERE id MOD 2 = 1",
        &[],
    ),
    case(
        "UPDATE items SET amount := ?, note := 'n' WHERE id = ?",
        &[I(5), I(3)],
    ),
    case(
        "UPDATE items SET amount = amount << 2 | 1 >> 1 WHERE id = 2",
        &[],
    ),
    case("UPDATE items SET note = 'it''s' WHERE id = 2", &[]),
    case(
        "UPDATE items SET amount = !amount WHERE !note AND NOT !(id = ?) OR id = 3 AND id != ! ?",
        &[I(2), I(4)],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE owner NOT REGEXP '2' AND owner RLIKE 'o' AND NOT (id = 1 XOR amount = 20)",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id = 2 && amount = 20 || id = 3",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE (id, amount) IN ((1, 10), (2, 20))",
        &[],
    ),
    case(
        "UPDATE items SET doc = JSON_SET(doc, '$.a', 2), note = '2026-01-01' + INTERVAL 1 DAY WHERE id = 2",
        &[],
    ),
    case(
        "UPDATE items SET note = CASE id WHEN 1 THEN 'a' ELSE 'b' END WHERE id IN (1, 2) ORDER BY id",
        &[],
    ),
    case(
        "UPDATE items SET note = 'x' WHERE BINARY owner = 'o1' AND owner LIKE 'o%' ESCAPE '!'",
        &[],
    ),
];

pub(crate) const SQLITE: &[Case] = &[
    case("UPDATE items SET amount = 1 WHERE id IS 2", &[]),
    case(
        "WITH x AS MATERIALIZED (SELECT 2 AS id), y AS NOT MATERIALIZED (SELECT id FROM x) UPDATE items SET amount = 1 WHERE id IN (SELECT id FROM y)",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE id IS ? OR note IS NOT 'x' AND id IS NOT ?",
        &[I(2), I(3)],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE note IS NULL AND amount IS NOT NULL AND (id IS 2) IS TRUE",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE amount NOT NULL AND note ISNULL AND id NOTNULL",
        &[],
    ),
    case(
        "UPDATE items SET amount = amount << 2 | 1 >> 1 WHERE id = 2",
        &[],
    ),
    case(
        "UPDATE items SET amount = ~amount & 7 WHERE id == 2 AND id != 3",
        &[],
    ),
    case(
        "UPDATE items SET amount = 1 WHERE owner NOT GLOB 'o[12]' AND owner NOT LIKE 'x%'",
        &[],
    ),
    case(
        "UPDATE items INDEXED BY by_owner SET amount = 1 WHERE owner = 'o1'",
        &[],
    ),
    case(
        "UPDATE items AS i INDEXED BY by_owner SET amount = 1 FROM others o WHERE i.owner = 'o1' AND o.item = i.id",
        &[],
    ),
    case(
        "UPDATE items NOT INDEXED SET amount = 1 WHERE owner = 'o1'",
        &[],
    ),
    case(
        "DELETE FROM items INDEXED BY by_owner WHERE owner = 'o1'",
        &[],
    ),
    case(
        "DELETE FROM items NOT INDEXED WHERE owner = 'o1' AND NOT id = 1",
        &[],
    ),
    case("UPDATE items SET note = 'C:\\' WHERE id = 2", &[]),
    case(
        "UPDATE items SET (amount, note) = (1, 'n') WHERE id = 2",
        &[],
    ),
    case(
        "UPDATE items SET (amount, note) = (SELECT factor, 'n' FROM others WHERE item = items.id) WHERE id < 4",
        &[],
    ),
    case(
        "UPDATE items SET doc = json_set(doc, '$.a', 2) WHERE doc ->> '$.a.b' = 1 AND doc -> 'a' IS NOT NULL",
        &[],
    ),
    case(
        "UPDATE items SET note = datetime('2026-01-01', '-1 day') WHERE (id, amount) IN (VALUES (1, 10), (2, 20))",
        &[],
    ),
    case(
        "UPDATE items SET note = iif(amount > 20, 'a', 'b') WHERE owner COLLATE NOCASE = 'O1'",
        &[],
    ),
    case(
        "UPDATE items SET amount = x.column2 FROM (VALUES (1, 5), (2, 6)) AS x WHERE x.column1 = items.id",
        &[],
    ),
    case(
        "UPDATE OR FAIL items SET amount = CAST(note AS INTEGER) WHERE id = 2 RETURNING *",
        &[],
    ),
];

/// Returns statements with the long and deep conditions that programs generate.
pub(crate) fn built() -> [Case; 4] {
    let ids: Vec<String> = (1..600).map(|id| format!("id = {id}")).collect();
    let pairs: Vec<String> = (1..300)
        .map(|id| format!("(id = {id} AND amount > 20)"))
        .collect();
    let list: Vec<String> = (2..3_000).map(|id| id.to_string()).collect();
    [
        format!("UPDATE items SET amount = 1 WHERE {}", ids.join(" OR ")),
        format!("DELETE FROM items WHERE {}", pairs.join(" OR ")),
        format!("DELETE FROM items WHERE id IN ({})", list.join(", ")),
        format!(
            "UPDATE items SET amount = 1 WHERE {}id = 2{}",
            "(".repeat(60),
            ")".repeat(60)
        ),
    ]
    .map(|sql| Case {
        sql: sql.into(),
        values: (&[]).into(),
        target: None,
    })
}
