//! Fuzzes with damaged statements. An accepted statement must not write rows that a newer holder has written.

use std::time::Duration;

use fastrand::Rng;
use leasehold_testkit::depth;

use crate::statements::random::Random;

/// Returns the duration for each database.
pub(crate) fn how_long() -> Duration {
    depth::seconds(1)
}

const SNIPPETS: [&str; 64] = [
    "'",
    "\"",
    "`",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ";",
    "--",
    "-- ",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\t",
    "\u{b}",
    "\u{a0}",
    "\u{feff}",
    "/*",
    "*/",
    "/*!",
    "/*M!",
    "/**/",
    "#",
    "\\",
    "\\'",
    "''",
    "\\\\",
    "$$",
    "$a$",
    "$1",
    "$2",
    "?",
    "?1",
    "E'",
    "U&'",
    "U&\"",
    "X'",
    "b'",
    "N'",
    "_utf8'",
    "::",
    "@",
    ":x",
    " OR 1 = 1",
    " OR true",
    " WHERE ",
    " SET ",
    " FROM others o ",
    " AS t ",
    "fencing_token",
    ", fencing_token = 99",
    " RETURNING id",
    " LIMIT 1",
    " ORDER BY 1",
    "UPDATE items SET amount = 1",
    "DELETE FROM items",
    " UNION ALL ",
    " WITH x AS (SELECT 1) ",
    "é",
    "+",
    "1e1",
];

/// Damages a statement.
pub(crate) fn damage(rng: &mut Rng, sql: &str, other: &str) -> String {
    let mut text = sql.to_owned();
    for _ in 0..rng.usize(1..5) {
        let (from, to) = range(rng, &text);
        match rng.u8(0..6) {
            0 => text.replace_range(from..to, ""),
            1 => {
                let piece = text[from..to].to_owned();
                text.insert_str(from, &piece);
            }
            2 => {
                let (start, end) = range(rng, other);
                text.insert_str(from, &other[start..end]);
            }
            _ => text.insert_str(from, SNIPPETS[rng.usize(0..SNIPPETS.len())]),
        }
    }
    text
}

/// Returns two positions between characters, the second at most 11 characters after the first.
fn range(rng: &mut Rng, text: &str) -> (usize, usize) {
    let ends: Vec<usize> = text
        .char_indices()
        .map(|it| it.0)
        .chain([text.len()])
        .collect();
    let from = rng.usize(0..ends.len());
    let to = (from + rng.usize(0..12)).min(ends.len() - 1);
    (ends[from], ends[to])
}

/// Returns whether a column has the name of its schema, as in `o.items.id`. `MariaDB` 10.11 crashes while it prepares a
/// statement over joined tables with a wrong name of this form.
pub(crate) fn has_name_of_three_parts(sql: &str) -> bool {
    let words = sql.split(|c: char| !(c.is_alphanumeric() || "_`.".contains(c)));
    let mut parts = words.map(|word| word.split('.').filter(|it| !it.is_empty()).count());
    parts.any(|count| count > 2)
}

/// Returns whether another statement is tried. `MariaDB` 10.11 crashes while it prepares some damaged statements. So it
/// gets the same ones each time, for as many as `tried`, whatever the time is.
pub(crate) fn goes_on(database: &str, tried: u64, is_time_left: bool) -> bool {
    match database {
        "MySql" => tried < 4_000,
        _ => is_time_left,
    }
}

/// Returns the next statement to damage.
pub(crate) fn next(random: &mut Random, cases: &[crate::statements::case::Case]) -> String {
    match random.rng.bool() {
        true => random.statement().sql.into_owned(),
        false => cases[random.rng.usize(0..cases.len())].sql.to_string(),
    }
}

/// Damages statements for a while, and executes the accepted ones on rows with newer tokens.
macro_rules! fuzz {
    ($name:ident, $pool:expr, $random:expr, $cases:expr) => {{
        let mut random = $random;
        let fence = Fence::try_from(7).unwrap();
        let (mut tried, mut executed) = (0_u64, 0_u64);
        let mut tx = $pool.begin().await.unwrap();
        set_tokens(&mut tx, 10).await;
        tx.commit().await.unwrap();
        let mut tx = $pool.begin().await.unwrap();
        let before = dump(&mut tx).await;
        tx.rollback().await.unwrap();
        let (begun, length) = (
            std::time::Instant::now(),
            crate::statements::fuzz::how_long(),
        );
        while crate::statements::fuzz::goes_on(stringify!($name), tried, begun.elapsed() < length) {
            let (one, other) = (
                crate::statements::fuzz::next(&mut random, $cases),
                crate::statements::fuzz::next(&mut random, $cases),
            );
            let sql = crate::statements::fuzz::damage(&mut random.rng, &one, &other);
            if stringify!($name) == "MySql"
                && crate::statements::fuzz::has_name_of_three_parts(&sql)
            {
                continue;
            }
            tried += 1;
            let mut values = 0;
            let mut tx = $pool.begin().await.unwrap();
            let done = loop {
                let mut query = fence.query::<sqlx::$name>(AssertSqlSafe(sql.clone()));
                for _ in 0..values {
                    query = query.bind(1_i64);
                }
                match query.execute(&mut *tx).await {
                    Err(Error::Binds { expected, .. }) => values = expected,
                    other => break other,
                }
            };
            if let Ok(_) | Err(Error::Stale(_)) = done {
                executed += 1;
                assert_eq!(dump(&mut tx).await, before, "{sql:?} has passed the fence");
            }
            // If the rollback fails, the server has already aborted the transaction.
            drop(tx.rollback().await);
        }
        println!(
            "{}: {tried} damaged statements, {executed} accepted and executed",
            stringify!($name)
        );
        let mut tx = $pool.begin().await.unwrap();
        assert_eq!(
            dump(&mut tx).await,
            before,
            "something has left its transaction"
        );
        tx.rollback().await.unwrap();
        assert!(executed > 0 && executed < tried, "{executed} of {tried}");
    }};
}

pub(crate) use fuzz;

/// Reads, and writes that are hidden in what begins like a read.
const HIDDEN: [&str; 14] = [
    "SELECT id, amount FROM items WHERE id = 1",
    "(SELECT id FROM items) UNION ALL (SELECT id FROM others)",
    "VALUES (1), (2)",
    "WITH x AS (SELECT id FROM items) SELECT id FROM x",
    "WITH x AS (DELETE FROM items RETURNING id) SELECT id FROM x",
    "WITH x AS (SELECT 1) DELETE FROM items",
    "WITH x AS (SELECT 1) INSERT INTO items (id) SELECT 99",
    "SELECT id FROM items; DELETE FROM items",
    "SELECT id INTO spare FROM items",
    "EXPLAIN ANALYZE DELETE FROM items",
    "EXPLAIN DELETE FROM items",
    "REPLACE INTO items (id) VALUES (1)",
    "INSERT INTO items (id) VALUES (99)",
    "TABLE items",
];

/// The next statement to damage, which may look like a read.
pub(crate) fn next_hidden(random: &mut Random, cases: &[crate::statements::case::Case]) -> String {
    match random.rng.bool() {
        true => HIDDEN[random.rng.usize(0..HIDDEN.len())].to_owned(),
        false => next(random, cases),
    }
}

/// Damages statements for a while, and executes them through a fenced pool in a task without a lock. Whatever passes
/// must be a read.
macro_rules! fuzz_pool {
    ($name:ident, $pool:expr, $random:expr, $cases:expr) => {{
        let mut random = $random;
        let fenced = FencedPool::new($pool.clone());
        let dumped = async || {
            let mut tx = $pool.begin().await.unwrap();
            let dumped = dump(&mut tx).await;
            tx.rollback().await.unwrap();
            dumped
        };
        let before = dumped().await;
        let (mut tried, mut executed) = (0_u64, 0_u64);
        let (begun, length) = (
            std::time::Instant::now(),
            crate::statements::fuzz::how_long(),
        );
        while crate::statements::fuzz::goes_on(stringify!($name), tried, begun.elapsed() < length) {
            let (one, other) = (
                crate::statements::fuzz::next_hidden(&mut random, $cases),
                crate::statements::fuzz::next_hidden(&mut random, $cases),
            );
            let sql = match random.rng.u8(0..5) {
                0 => one,
                _ => crate::statements::fuzz::damage(&mut random.rng, &one, &other),
            };
            if stringify!($name) == "MySql"
                && crate::statements::fuzz::has_name_of_three_parts(&sql)
            {
                continue;
            }
            tried += 1;
            let done = match random.rng.bool() {
                true => {
                    sqlx::raw_sql(AssertSqlSafe(sql.clone()))
                        .execute(&fenced)
                        .await
                }
                false => {
                    sqlx::query(AssertSqlSafe(sql.clone()))
                        .execute(&fenced)
                        .await
                }
            };
            if done.is_ok() {
                executed += 1;
                assert_eq!(dumped().await, before, "{sql:?} was sent as a read");
            }
        }
        println!(
            "{}: {tried} damaged statements, {executed} sent as reads",
            stringify!($name)
        );
        assert_eq!(
            dumped().await,
            before,
            "a statement that failed has written"
        );
        assert!(executed > 0 && executed < tried, "{executed} of {tried}");
    }};
}

pub(crate) use fuzz_pool;
