//! Writes that are refused before anything is sent.

use std::collections::BTreeSet;

use leasehold::LockManager;
use leasehold_sqlx::{Error, FencedPool};
use sqlx::{AssertSqlSafe, MySqlPool, PgPool, SqlitePool};

use super::{held, holder};
use crate::fence::tools::{mariadb, postgres, sqlite};

/// A part of each statement that must not reach the server.
const MARK: &str = "never_sent";

/// Statements that no fenced pool sends, with a part of their remedy.
const STATEMENTS: [(&str, &str); 21] = [
    ("CREATE TABLE never_sent (id BIGINT)", "pool.inner()"),
    (
        "ALTER TABLE items ADD COLUMN never_sent BIGINT",
        "pool.inner()",
    ),
    ("DROP TABLE never_sent", "pool.inner()"),
    ("SET never_sent = 1", "pool.inner()"),
    ("CALL never_sent()", "pool.inner()"),
    ("TRUNCATE never_sent", "DELETE FROM"),
    ("BEGIN /* never_sent */", "pool.begin()"),
    ("SAVEPOINT never_sent", "pool.begin()"),
    (
        "REPLACE INTO items (id, amount) VALUES (1, 1) /* never_sent */",
        "an INSERT",
    ),
    (
        "INSERT INTO items (id, amount) SELECT 1, 2 UNION SELECT 3, 4 /* never_sent */",
        "simplify",
    ),
    (
        "INSERT INTO items VALUES (1, 1, 1) /* never_sent */",
        "(…) VALUES",
    ),
    (
        "INSERT INTO items (id, fencing_token) VALUES (1, 9) /* never_sent */",
        "remove it",
    ),
    (
        "UPDATE items SET fencing_token = 9 /* never_sent */",
        "remove it",
    ),
    (
        "UPDATE items SET amount = 1; DELETE FROM never_sent",
        "one statement at a time",
    ),
    (
        "SELECT 1; DELETE FROM never_sent",
        "one statement at a time",
    ),
    ("SELECT 1 INTO never_sent", "pool.inner()"),
    (
        "SELECT id FROM items FOR UPDATE /* never_sent */",
        "pool.begin()",
    ),
    (
        "SELECT id FROM (SELECT id FROM items FOR SHARE) AS never_sent",
        "pool.begin()",
    ),
    ("EXPLAIN ANALYZE DELETE FROM never_sent", "remove ANALYZE"),
    (
        "WITH gone AS (DELETE FROM items RETURNING id) SELECT id FROM gone /* never_sent */",
        "each change",
    ),
    ("never_sent", "pool.inner()"),
];

/// Returns everything that is refused, on a pool that has never connected.
macro_rules! refused {
    ($pool:expr, $write:literal, $upsert:literal) => {{
        let pool = FencedPool::new($pool);
        let write = || async {
            let write = sqlx::query($write).bind(1_i64).execute(&pool).await;
            write.map(drop).map_err(Error::from)
        };
        let no_lock = |refused: Result<(), Error>, what: &str| {
            let expected = matches!(
                &refused,
                Err(Error::Lock(leasehold::Error::NoCurrentLock(_)))
            );
            assert!(expected, "{what}: {refused:?}");
            let message = refused.unwrap_err().to_string();
            assert!(message.contains("lock"), "{message}");
        };
        no_lock(write().await, "outside of any lock");
        no_lock(
            pool.begin().await.map(drop),
            "a transaction outside of any lock",
        );
        let locks = LockManager::in_process();
        let permit = locks.semaphore("uploads", 3).acquire().await.unwrap();
        no_lock(permit.handle().scope(write()).await, "only a permit");
        no_lock(
            held(1, async { spawned(pool.clone(), $write).await }).await,
            "a spawned task",
        );

        let guard = holder("items", 3).await;
        guard.simulate_loss();
        let lost = guard.handle().scope(write()).await;
        assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");
        let lost = guard
            .handle()
            .scope(async { pool.begin().await.map(drop) })
            .await;
        assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");

        let mapped = pool.clone().map_table("items", "item:*").unwrap();
        let wrong = held(1, sqlx::query($write).bind(1_i64).execute(&mapped))
            .await
            .map_err(Error::from);
        assert!(matches!(wrong, Err(Error::WrongKey { .. })), "{wrong:?}");

        let few = held(1, sqlx::query($write).execute(&pool))
            .await
            .map_err(Error::from);
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

        for (sql, remedy) in STATEMENTS.into_iter().chain([($upsert, "an INSERT")]) {
            for prepares in [false, true] {
                let sql = AssertSqlSafe(sql);
                let refused = match prepares {
                    false => held(1, sqlx::query(sql).execute(&pool)).await.map(drop),
                    true => held(1, sqlx::raw_sql(sql).execute(&pool)).await.map(drop),
                };
                let sqlx::Error::Database(error) = refused.unwrap_err() else {
                    panic!("not as an error of sqlx")
                };
                let message = error.message().to_owned();
                let refused = Error::from(sqlx::Error::Database(error));
                assert!(matches!(refused, Error::Rewrite { .. }), "{refused:?}");
                assert!(message.contains(remedy), "{message}");
                assert_eq!(message, refused.to_string());
            }
        }
        assert_eq!(pool.inner().size(), 0, "it has connected");
        pool
    }};
}

/// Writes in a task that does not have the lock of this one.
async fn spawned<DB>(pool: FencedPool<DB>, sql: &'static str) -> Result<(), Error>
where
    DB: leasehold_sqlx::FencedDatabase,
    DB::Arguments: sqlx::IntoArguments<DB>,
    i64: for<'q> sqlx::Encode<'q, DB> + sqlx::Type<DB>,
{
    let write = async move { sqlx::query::<DB>(sql).bind(1_i64).execute(&pool).await };
    Ok(tokio::spawn(write).await.unwrap().map(drop)?)
}

const POSTGRES_LOG: &str = "SELECT pg_read_file((SELECT setting FROM pg_settings WHERE name = 'data_directory') || '/../log')";

#[tokio::test]
async fn on_postgres_refused_writes_are_not_sent_to_the_server() {
    let (server, plain) = postgres().await;
    let everything = "ALTER SYSTEM SET log_statement = 'all'";
    sqlx::raw_sql(everything).execute(&plain).await.unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()")
        .execute(&plain)
        .await
        .unwrap();
    plain.close().await;
    let lazy = PgPool::connect_lazy(&server.url()).unwrap();
    let pool = refused!(
        lazy,
        "UPDATE items SET amount = $1 /* never_sent */",
        "INSERT INTO items (id, amount) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET amount = 2 /* never_sent */"
    );
    let held = held(
        1,
        sqlx::query("UPDATE items SET amount = 1 /* sent */").execute(&pool),
    )
    .await;
    held.unwrap();
    let log: String = sqlx::query_scalar(POSTGRES_LOG)
        .fetch_one(pool.inner())
        .await
        .unwrap();
    assert!(log.contains("/* sent */"), "{log}");
    assert!(!log.contains(MARK), "{log}");
}

#[tokio::test]
async fn on_mariadb_refused_writes_are_not_sent_to_the_server() {
    let (server, plain) = mariadb().await;
    let everything = "SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = 1";
    sqlx::raw_sql(everything).execute(&plain).await.unwrap();
    plain.close().await;
    let lazy = MySqlPool::connect_lazy(&server.url()).unwrap();
    let pool = refused!(
        lazy,
        "UPDATE items SET amount = ? /* never_sent */",
        "INSERT INTO items (id, amount) VALUES (1, 1) ON DUPLICATE KEY UPDATE amount = 2 /* never_sent */"
    );
    let held = held(
        1,
        sqlx::query("UPDATE items SET amount = 1 /* sent */").execute(&pool),
    )
    .await;
    held.unwrap();
    let log = sqlx::query_scalar("SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log");
    let log: Vec<String> = log.fetch_all(pool.inner()).await.unwrap();
    assert!(log.iter().any(|it| it.contains("/* sent */")), "{log:?}");
    assert!(!log.iter().any(|it| it.contains(MARK)), "{log:?}");
}

#[tokio::test]
async fn on_sqlite_refused_writes_open_no_connection() {
    let lazy = SqlitePool::connect_lazy("sqlite::memory:").unwrap();
    let pool = refused!(
        lazy,
        "UPDATE items SET amount = ? /* never_sent */",
        "INSERT INTO items (id, amount) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET amount = 2 /* never_sent */"
    );
    // Also what only SQLite has.
    for sql in [
        "PRAGMA user_version = 5",
        "EXPLAIN PRAGMA user_version = 5",
        "INSERT OR REPLACE INTO items (id, amount) VALUES (1, 1)",
        "VACUUM",
        "ATTACH 'other.db' AS other",
    ] {
        let refused = held(1, sqlx::query(sql).execute(&pool)).await;
        let refused = refused.map_err(Error::from);
        assert!(matches!(refused, Err(Error::Rewrite { .. })), "{refused:?}");
    }
    assert_eq!(pool.inner().size(), 0);
}

#[tokio::test]
async fn in_sqlx_finds_the_refusal_inside_an_error_of_sqlx() {
    let all: BTreeSet<_> = STATEMENTS.iter().map(|it| it.0).collect();
    assert_eq!(all.len(), STATEMENTS.len());
    let pool = FencedPool::new(sqlite().await);
    let refused = sqlx::query("DROP TABLE items")
        .execute(&pool)
        .await
        .unwrap_err();
    assert!(matches!(
        Error::in_sqlx(&refused),
        Some(Error::Rewrite { .. })
    ));
    let other = sqlx::query("SELECT nothing")
        .execute(&pool)
        .await
        .unwrap_err();
    assert!(Error::in_sqlx(&other).is_none());
    assert!(matches!(
        Error::from(other),
        Error::Sqlx(sqlx::Error::Database(_))
    ));
}
