//! Statements that are refused before they are sent.

use leasehold_sqlx::{Error, Fence};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{MySql, MySqlPool, PgPool, Postgres, Sqlite, SqlitePool};

/// A statement, the text at the position of the error, and a word of the remedy.
type Refused = (&'static str, &'static str, &'static str);

const EVERYWHERE: &[Refused] = &[
    ("INSERT INTO items (id) VALUES (1)", "INSERT", "fence.begin"),
    (
        "INSERT INTO items (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
        "INSERT",
        "run a fenced UPDATE",
    ),
    ("UPDATE items SET a = 1\0 WHERE id = 1", "\0", "bind"),
    ("SELECT 1", "SELECT", "fence.begin"),
    (
        "SELECT a FROM items WHERE id = 1 FOR UPDATE",
        "SELECT",
        "UPDATE",
    ),
    ("TRUNCATE items", "TRUNCATE", "write `DELETE FROM`"),
    ("truncate TABLE items;", "truncate", "write `DELETE FROM`"),
    ("", "", "fence.begin"),
    (
        "UPDATE items SET a = 1; DELETE FROM items",
        "; DELETE",
        "one statement",
    ),
    (
        "UPDATE items SET a = 1; -- x\n UPDATE items SET a = 2",
        "; --",
        "one statement",
    ),
    (
        "UPDATE items SET fencing_token = 9 WHERE id = 1",
        "UPDATE",
        "remove it",
    ),
    (
        "UPDATE items SET a = 1, FENCING_TOKEN = 0 WHERE id = 1",
        "UPDATE",
        "remove it",
    ),
    (
        "UPDATE items SET (a, fencing_token) = (1, 0) WHERE id = 1",
        "UPDATE",
        "",
    ),
    ("UPDATE items SET a = 'x WHERE id = 1", "'x", "close it"),
    ("UPDATE items SET a = 1 /* x", "/*", "close it"),
    (
        "UPDATE items SET a = 1 /* /* */ */ WHERE id = 1",
        "/* */",
        "nest",
    ),
    (
        "UPDATE items SET a = 1 -- x\rWHERE id = 2",
        "\rWHERE",
        "line feed",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1\u{a0}OR 1 = 1",
        "\u{a0}",
        "plain spaces",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1 \u{feff}",
        "\u{feff}",
        "plain spaces",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1 \u{b} OR true",
        "\u{b}",
        "plain spaces",
    ),
    ("UPDATE items SET a = 1 WHERE id = 'a\0b'", "\0", "bind"),
    ("UPDATE items", "", "write it completely"),
    ("UPDATE items SET", "", "write it completely"),
    ("UPDATE items SET a = 1 WHERE", "", "write it completely"),
    ("EXPLAIN UPDATE items SET a = 1", "EXPLAIN", "fence.begin"),
    ("UPDATE (SELECT 1) SET a = 1", "UPDATE", ""),
    (
        "DELETE FROM items WHERE a = 1 ORDER BY id LIMIT 1",
        "DELETE",
        "AS chosen",
    ),
];

const POSTGRES: &[Refused] = &[
    (
        "WITH items AS (SELECT 1 AS id) UPDATE items SET a = 1",
        "UPDATE",
        "another name",
    ),
    (
        "WITH \"Items\" AS (SELECT 1 AS id) DELETE FROM ITEMS AS i",
        "DELETE",
        "another name",
    ),
    (
        "WITH d AS (DELETE FROM others RETURNING id) UPDATE items SET a = 1",
        "UPDATE",
        "separate statement",
    ),
    (
        "WITH d AS (UPDATE others SET factor = 1 RETURNING id) DELETE FROM items",
        "DELETE",
        "separate statement",
    ),
    (
        "WITH d AS (INSERT INTO others VALUES (1) RETURNING id) UPDATE items SET a = 1",
        "UPDATE",
        "separate statement",
    ),
    (
        "UPDATE items SET a = $1 WHERE id = $3",
        "$3",
        "without gaps",
    ),
    ("UPDATE items SET a = $2", "$2", "without gaps"),
    ("UPDATE items SET a = $0", "$0", "`$1`"),
    (
        "UPDATE items SET U&\"fencing\\005ftoken\" = 1",
        "U&",
        "plain quotes",
    ),
    ("UPDATE items SET a = 'b\\' WHERE id = 1 -- '", "'b", "bind"),
    ("UPDATE items SET a = 'C:\\' WHERE id = 1", "'C", "`E'…'`"),
    ("UPDATE items SET a = E'x\0y'", "\0", "bind"),
    ("UPDATE items SET a = $$x\0y$$", "\0", "bind"),
    (
        "UPDATE items i JOIN others o ON true SET a = 1",
        "UPDATE",
        "FROM or USING",
    ),
    ("UPDATE items SET a = 1 WHERE CURRENT OF c", "", ""),
];

const MYSQL: &[Refused] = &[
    ("ALTER TABLE items ADD b INT", "ALTER", "commit implicitly"),
    (
        "UPDATE items SET a = 1 /*! , b = 2 */ WHERE id = 1",
        "/*!",
        "plain comment",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1 /*!50000 OR 1 = 1 */",
        "/*!",
        "plain comment",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1 /*M! OR 1 = 1 */",
        "/*M!",
        "plain comment",
    ),
    (
        "UPDATE items i JOIN others o ON o.id = i.id SET a = 1",
        "UPDATE",
        ".target",
    ),
    (
        "UPDATE items i JOIN others o ON o.id = i.id SET i.a = 1, b = 2",
        "UPDATE",
        ".target",
    ),
    (
        "UPDATE items i JOIN others o ON o.id = i.id SET i.a = 1, o.b = 2",
        "UPDATE",
        "per table",
    ),
    (
        "DELETE i, o FROM items i JOIN others o ON o.id = i.id",
        "DELETE",
        "per table",
    ),
    (
        "DELETE FROM i, o USING items i JOIN others o",
        "DELETE",
        "per table",
    ),
    (
        "DELETE FROM w USING items i, others o",
        "DELETE",
        "its alias",
    ),
    (
        "UPDATE items i, others o SET i.a = 1, o.b = 2",
        "UPDATE",
        "per table",
    ),
    ("UPDATE items i, others o SET a = 1", "UPDATE", ".target"),
    ("UPDATE items SET a = 'C:\\' WHERE id = 1", "'C", "bind"),
    ("UPDATE IGNORE items SET a = 1", "IGNORE", "remove it"),
    (
        "UPDATE LOW_PRIORITY items SET a = 1",
        "LOW_PRIORITY",
        "remove it",
    ),
    ("DELETE QUICK FROM items", "QUICK", "remove it"),
    ("UPDATE items SET a = 'b\\' WHERE id = 1 -- '", "'b", "bind"),
    (
        "UPDATE items SET a = 'it\\'s' WHERE id = 1",
        "'it",
        "double the quote",
    ),
    (
        "UPDATE items SET a = 1 WHERE id = 1 RETURNING id",
        "UPDATE",
        "same transaction",
    ),
    ("UPDATE items SET a = ?1", "?1", "`?`"),
    (
        "UPDATE items SET a = 1 ORDER BY id DESC, a LIMIT 2",
        "UPDATE",
        "AS chosen",
    ),
    (
        "delete from items order by id limit 1",
        "delete",
        "AS chosen",
    ),
    ("DELETE FROM items RETURNING id", "", "fetch_all"),
    (
        "REPLACE INTO items (id) VALUES (1) RETURNING id",
        "REPLACE",
        "fence.begin",
    ),
];

const SQLITE: &[Refused] = &[
    (
        "DELETE FROM items USING others o WHERE o.id = items.id",
        "DELETE",
        "a sub-query",
    ),
    ("UPDATE items SET a = 1 -- \0\nWHERE id = 1", "\0", "bind"),
    (
        "WITH Items AS (SELECT 1 AS id) UPDATE [items] AS i SET a = 1",
        "UPDATE",
        "another name",
    ),
    (
        "WITH items AS (SELECT 1 AS id) DELETE FROM ITEMS",
        "DELETE",
        "another name",
    ),
    (
        "UPDATE items AS others SET a = 1 FROM odd, Others",
        "UPDATE",
        "another alias",
    ),
    (
        "UPDATE items SET a = 1 FROM (odd AS o JOIN others AS Items ON o.id = Items.id)",
        "UPDATE",
        "another alias",
    ),
    // One tokenizer finds one string, the other finds a string and a comment.
    ("UPDATE items SET a = X'\\' WHERE id = 1 --'", "X'", "bind"),
    (
        "UPDATE OR REPLACE items SET a = 1",
        "UPDATE",
        "separate fenced statement",
    ),
    ("UPDATE items SET a = ? WHERE id = ?1", "?1", "only"),
    ("UPDATE items SET a = $1 WHERE id = ?", "?", "only"),
    (
        "UPDATE items SET a = ?1 WHERE id = ?3",
        "?3",
        "without gaps",
    ),
    ("UPDATE items SET a = :name", ":name", "use `?`"),
    ("UPDATE items SET a = @name", "@name", "use `?`"),
    ("UPDATE items SET a = $name", "$name", "use `?`"),
    ("UPDATE items SET a = $1(') OR 1 = 1 --')", "$1", "space"),
    ("UPDATE items SET a = ?01", "?01", "use `?`"),
];

/// Checks that each statement is refused before it is sent. No database is running, so no database can refuse it.
macro_rules! refuse {
    ($DB:ty, $pool:expr, $own:expr) => {
        for (sql, place, word) in EVERYWHERE.iter().chain($own) {
            let fence = Fence::try_from(7).unwrap();
            let refused = fence.query::<$DB>(*sql).execute($pool).await;
            let Err(Error::Rewrite {
                position,
                problem,
                remedy,
            }) = refused
            else {
                panic!("{sql:?}: {refused:?}");
            };
            let found = &sql[position.offset..];
            assert!(found.starts_with(place), "{sql:?}: {problem} at {found:?}");
            assert!(
                !problem.is_empty() && remedy.contains(word),
                "{sql:?}: {problem}; {remedy}"
            );
        }
    };
}

#[tokio::test]
async fn unfenceable_statement_is_refused_before_it_is_sent() {
    let postgres = PgPool::connect_lazy("postgres://127.0.0.1:1/none").unwrap();
    refuse!(Postgres, &postgres, POSTGRES);
    let mysql = MySqlPool::connect_lazy("mysql://127.0.0.1:1/none").unwrap();
    refuse!(MySql, &mysql, MYSQL);
    let sqlite = SqlitePool::connect_lazy("sqlite:///none/none").unwrap();
    refuse!(Sqlite, &sqlite, SQLITE);
}

#[tokio::test]
async fn position_of_a_refusal_counts_lines_and_characters() {
    let pool = SqlitePool::connect_lazy("sqlite:///none/none").unwrap();
    let fence = Fence::try_from(7).unwrap();
    let refused = fence
        .query("UPDATE items\n SET ü = :x")
        .execute(&pool)
        .await;
    let Err(error @ Error::Rewrite { position, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (position.line, position.column, position.offset),
        (2, 10, 23)
    );
    assert!(error.to_string().contains("(line 2, column 10)"), "{error}");
}

#[tokio::test]
async fn wrong_number_of_values_is_refused_before_sending() {
    let sql = "UPDATE items SET a = ? WHERE id = ?";
    let fence = Fence::try_from(7).unwrap();
    let pool = SqlitePoolOptions::new()
        .connect_lazy("sqlite:///none/none")
        .unwrap();
    let few = fence.query(sql).bind(1).execute(&pool).await;
    assert!(
        matches!(
            few,
            Err(Error::Binds {
                expected: 2,
                given: 1
            })
        ),
        "{few:?}"
    );
    let many = fence
        .query(sql)
        .bind(1)
        .bind(2)
        .bind(3)
        .execute(&pool)
        .await;
    assert!(
        matches!(
            many,
            Err(Error::Binds {
                expected: 2,
                given: 3
            })
        ),
        "{many:?}"
    );
    let pool = MySqlPool::connect_lazy("mysql://127.0.0.1:1/none").unwrap();
    let many = fence
        .query(sql)
        .bind(1)
        .bind(2)
        .bind(3)
        .execute(&pool)
        .await;
    assert!(
        matches!(
            many,
            Err(Error::Binds {
                expected: 2,
                given: 3
            })
        ),
        "{many:?}"
    );
    let pool = PgPool::connect_lazy("postgres://127.0.0.1:1/none").unwrap();
    let few = fence
        .query("DELETE FROM items WHERE id = $1")
        .execute(&pool)
        .await;
    assert!(
        matches!(
            few,
            Err(Error::Binds {
                expected: 1,
                given: 0
            })
        ),
        "{few:?}"
    );
}
