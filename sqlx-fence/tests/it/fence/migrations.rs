//! The column and the table are created once, even by repeated and concurrent calls.

use leasehold_sqlx::{Error, ddl};
use leasehold_testkit::servers::PostgresServer;
use sqlx::error::DatabaseError;
use sqlx::{Connection, PgConnection, PgPool};

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Runs the same checks on each database.
macro_rules! migrations {
    ($pool:expr, $bare:literal) => {
        let pool = $pool;
        sqlx::raw_sql(
            "DROP TABLE leasehold_fences; CREATE TABLE bare (id BIGINT PRIMARY KEY); \
             INSERT INTO bare VALUES (1)",
        )
        .execute(&pool)
        .await
        .unwrap();
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move {
                    ddl::create_fences(&pool).await?;
                    ddl::add_column(&pool, $bare).await?;
                    ddl::add_column_named(&pool, "bare", "epoch").await
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        fence(3)
            .query("UPDATE bare SET id = 2")
            .expect_rows(1)
            .execute(&pool)
            .await
            .unwrap();
        let again = fence(2)
            .query("UPDATE bare SET id = 3")
            .execute(&pool)
            .await;
        assert!(matches!(again, Err(Error::Stale(_))), "{again:?}");
        fence(3)
            .begin(&pool, "a")
            .await
            .unwrap()
            .commit()
            .await
            .unwrap();
        ddl::create_fences(&pool).await.unwrap();
        let kept = fence(2).begin(&pool, "a").await;
        assert!(matches!(kept, Err(Error::Stale(_))), "{kept:?}");

        assert!(matches!(
            ddl::add_column(&pool, "nowhere").await,
            Err(Error::Sqlx(_))
        ));
        for bad in [
            "",
            "a b",
            "bare; DROP TABLE bare",
            "a.b.c",
            ".bare",
            "bare.",
            "'bare'",
            "\"",
            "``",
            "\"\"",
            "\"bare",
            "`bare",
            "\"a\"b\"",
            "`a`b`",
            "\"bare\" x",
            "`bare` x",
            "\"a\".\"b\".\"c\"",
            "`a`.`b`.`c`",
            "\"a\0\"",
            "`a\0`",
            "ä",
            "1st",
            "bare--",
            "ba\"re",
            "ba`re",
        ] {
            let refused = ddl::add_column(&pool, bad).await;
            assert!(
                matches!(refused, Err(Error::Name { what: "table", .. })),
                "{bad:?}"
            );
        }
        let refused = ddl::add_column_named(&pool, "bare", "x y").await;
        assert!(
            matches!(refused, Err(Error::Name { what: "column", .. })),
            "{refused:?}"
        );
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_repeated_and_concurrent_migrations_succeed() {
    migrations!(sqlite().await, "main.bare");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_repeated_and_concurrent_migrations_succeed() {
    let (_server, pool) = postgres().await;
    migrations!(pool, "public.bare");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_mariadb_repeated_and_concurrent_migrations_succeed() {
    let (_server, pool) = mariadb().await;
    migrations!(pool, "test.bare");
}

/// Uses tables whose names need quotes or have capitals.
macro_rules! names {
    ($pool:expr, $schema:literal, $($table:literal),+) => {
        let pool = $pool;
        sqlx::raw_sql($schema).execute(&pool).await.unwrap();
        $(
            for _ in 0..2 {
                ddl::add_column(&pool, $table).await.unwrap();
            }
            let write = concat!("UPDATE ", $table, " SET id = id");
            let write = |number| fence(number).query(write).execute(&pool);
            assert_eq!(write(3).await.unwrap().rows_affected(), 1, $table);
            let stale = write(2).await;
            assert!(matches!(stale, Err(Error::Stale(_))), "{}: {stale:?}", $table);
        )+
    };
}

#[tokio::test]
async fn on_sqlite_quoted_and_mixed_case_table_names_are_accepted() {
    names!(
        sqlite().await,
        "CREATE TABLE Orders (id INTEGER); CREATE TABLE \"my. \"\"orders\" (id INTEGER); \
         ATTACH ':memory:' AS \"My Shop\"; CREATE TABLE \"My Shop\".Items (id INTEGER); \
         INSERT INTO Orders VALUES (1); INSERT INTO \"my. \"\"orders\" VALUES (1); \
         INSERT INTO \"My Shop\".Items VALUES (1)",
        "ORDERS",
        "\"my. \"\"orders\"",
        "\"my shop\".iTEMS"
    );
}

#[tokio::test]
async fn on_postgres_quoted_and_mixed_case_table_names_are_accepted() {
    let (_server, pool) = postgres().await;
    names!(
        pool,
        "CREATE TABLE orders (id INT); CREATE TABLE \"Orders\" (id INT); \
         CREATE SCHEMA \"My Shop\"; CREATE TABLE \"My Shop\".\"my. \"\"orders\" (id INT); \
         INSERT INTO orders VALUES (1); INSERT INTO \"Orders\" VALUES (1); \
         INSERT INTO \"My Shop\".\"my. \"\"orders\" VALUES (1)",
        "Orders",
        "\"Orders\"",
        "\"My Shop\".\"my. \"\"orders\""
    );
}

#[tokio::test]
async fn on_mariadb_quoted_and_mixed_case_table_names_are_accepted() {
    let (_server, pool) = mariadb().await;
    names!(
        pool.clone(),
        "CREATE TABLE orders (id INT); CREATE TABLE Orders (id INT); \
         CREATE DATABASE `My Shop`; CREATE TABLE `My Shop`.`my. ``orders` (id INT); \
         INSERT INTO orders VALUES (1); INSERT INTO Orders VALUES (1); \
         INSERT INTO `My Shop`.`my. ``orders` VALUES (1)",
        "orders",
        "Orders",
        "`My Shop`.`my. ``orders`"
    );
    // This also works for a temporary table, which `information_schema` does not contain.
    let mut connection = pool.acquire().await.unwrap();
    let lone = "CREATE TEMPORARY TABLE lone (id INT)";
    sqlx::raw_sql(lone).execute(&mut *connection).await.unwrap();
    for _ in 0..2 {
        ddl::add_column(&mut *connection, "lone").await.unwrap();
    }
}

/// Checks that columns of the types `$refused` are refused, and those of the types `$accepted` are accepted.
macro_rules! types {
    ($pool:expr, $refused:expr, $accepted:expr) => {
        let pool = $pool;
        let make = async |r#type: &str| {
            let make = format!(
                "DROP TABLE IF EXISTS typed; CREATE TABLE typed (id INT, fencing_token {type})"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(make))
                .execute(&pool)
                .await
                .unwrap();
            ddl::add_column(&pool, "typed").await
        };
        for (r#type, expected) in $refused {
            let refused = make(r#type).await;
            let Err(Error::ColumnType {
                table,
                column,
                found,
            }) = &refused
            else {
                panic!("{type}: {refused:?}")
            };
            assert_eq!(
                (table.as_str(), column.as_str()),
                ("typed", "fencing_token")
            );
            assert_eq!(found, expected, "{type}");
            let told = refused.unwrap_err().to_string();
            let parts = [
                "`typed`",
                "`fencing_token`",
                expected,
                "BIGINT",
                "with_column",
            ];
            assert!(parts.iter().all(|it| told.contains(it)), "{told}");
        }
        for r#type in $accepted {
            let accepted = make(r#type).await;
            assert!(accepted.is_ok(), "{type}: {accepted:?}");
        }
    };
}

#[tokio::test]
async fn on_sqlite_token_column_of_another_type_is_refused() {
    let refused = [
        ("TEXT", "TEXT"),
        ("", ""),
        ("REAL", "REAL"),
        ("varchar(9)", "varchar(9)"),
    ];
    let pool = sqlite().await;
    types!(
        pool.clone(),
        refused,
        ["INTEGER", "BIGINT NOT NULL DEFAULT 0", "int"]
    );
    // The name of the column in another case.
    sqlx::raw_sql("CREATE TABLE loud (FENCING_TOKEN TEXT); CREATE TABLE fine (Fencing_Token INT)")
        .execute(&pool)
        .await
        .unwrap();
    let refused = ddl::add_column(&pool, "loud").await;
    assert!(
        matches!(refused, Err(Error::ColumnType { .. })),
        "{refused:?}"
    );
    ddl::add_column(&pool, "fine").await.unwrap();
}

#[tokio::test]
async fn on_postgres_token_column_of_another_type_is_refused() {
    let (_server, pool) = postgres().await;
    let domains = "CREATE DOMAIN epoch AS BIGINT CHECK (VALUE >= 0); CREATE DOMAIN word AS TEXT";
    sqlx::raw_sql(domains).execute(&pool).await.unwrap();
    let refused = [
        ("TEXT", "text"),
        ("VARCHAR(9)", "character varying(9)"),
        ("DOUBLE PRECISION", "double precision"),
        ("NUMERIC(20, 0)", "numeric(20,0)"),
        ("word", "word"),
    ];
    types!(
        pool,
        refused,
        ["BIGINT", "INT NOT NULL DEFAULT 0", "SMALLINT", "epoch"]
    );
}

#[tokio::test]
async fn on_mariadb_token_column_of_another_type_is_refused() {
    let (_server, pool) = mariadb().await;
    let refused = [
        ("TEXT", "text"),
        ("VARCHAR(9)", "varchar(9)"),
        ("DOUBLE", "double"),
        ("DECIMAL(20, 0)", "decimal(20,0)"),
    ];
    types!(
        pool,
        refused,
        [
            "BIGINT",
            "INT NOT NULL DEFAULT 0",
            "BIGINT UNSIGNED",
            "MEDIUMINT"
        ]
    );
}

#[tokio::test]
async fn migrations_run_on_a_connection_and_in_a_transaction_of_a_spawned_task() {
    let pool = sqlite().await;
    let task = tokio::spawn(async move {
        let mut connection = pool.acquire().await?;
        ddl::create_fences(&mut *connection).await?;
        let mut tx = connection.begin().await?;
        ddl::add_column_named(&mut *tx, "items", "epoch").await?;
        ddl::add_column(&mut *tx, "items").await?;
        Ok::<_, Error>(tx.commit().await?)
    });
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn on_sqlite_add_column_is_repeatable_on_temporary_and_attached_tables() {
    let pool = sqlite().await;
    let schema = "ATTACH ':memory:' AS other; CREATE TABLE other.lone (id INTEGER); \
         CREATE TEMP TABLE items (id INTEGER)";
    sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    for _ in 0..2 {
        for table in ["items", "temp.items", "main.items", "lone", "other.lone"] {
            ddl::add_column_named(&pool, table, "epoch").await.unwrap();
        }
    }
}

/// Connects as a role that owns nothing and cannot create tables.
async fn as_somebody_else(server: &PostgresServer, pool: &PgPool) -> PgPool {
    sqlx::raw_sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE app LOGIN")
        .execute(pool)
        .await
        .unwrap();
    let url = server.url().replace("//postgres@", "//app@");
    PgPool::connect(&url).await.unwrap()
}

#[tokio::test]
async fn on_postgres_add_column_does_not_wait_if_the_column_exists() {
    let (_server, pool) = postgres().await;
    let mut reader = pool.begin().await.unwrap();
    let read = sqlx::query("SELECT * FROM items");
    read.fetch_all(&mut *reader).await.unwrap();
    let mut starting = pool.acquire().await.unwrap();
    sqlx::raw_sql("SET lock_timeout = '500ms'")
        .execute(&mut *starting)
        .await
        .unwrap();
    for table in ["items", "public.items"] {
        ddl::add_column(&mut *starting, table).await.unwrap();
    }
    // A missing column needs the lock of the table.
    let waited = ddl::add_column_named(&mut *starting, "items", "epoch").await;
    assert_eq!(code(&waited.unwrap_err()), "55P03");
    reader.rollback().await.unwrap();
}

#[tokio::test]
async fn on_postgres_add_column_needs_no_ownership_if_the_column_exists() {
    let (server, pool) = postgres().await;
    let app = as_somebody_else(&server, &pool).await;
    for table in ["items", "public.items"] {
        ddl::add_column(&app, table).await.unwrap();
    }
    let refused = ddl::add_column_named(&app, "items", "epoch").await;
    assert_eq!(code(&refused.unwrap_err()), "42501");
}

#[tokio::test]
async fn on_postgres_add_column_finds_the_table_by_the_search_path() {
    let (_server, pool) = postgres().await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql(
        "CREATE SCHEMA shop; CREATE TABLE shop.items (id BIGINT); SET search_path = shop, public",
    )
    .execute(&mut *connection)
    .await
    .unwrap();
    for once_more in [true, false] {
        ddl::add_column(&mut *connection, "items").await.unwrap();
        let read = sqlx::query("SELECT fencing_token FROM shop.items");
        read.fetch_all(&mut *connection).await.unwrap();
        if once_more {
            sqlx::raw_sql("ALTER TABLE shop.items DROP COLUMN fencing_token")
                .execute(&mut *connection)
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn on_postgres_create_fences_in_a_transaction_returns_the_original_error() {
    let (server, pool) = postgres().await;
    let app = as_somebody_else(&server, &pool).await;
    // The table exists, so the role needs no right to create it.
    ddl::create_fences(&app).await.unwrap();
    let drop = sqlx::raw_sql("DROP TABLE leasehold_fences");
    drop.execute(&pool).await.unwrap();
    let refused = ddl::create_fences(&app).await;
    assert_eq!(code(&refused.unwrap_err()), "42501");
    let mut tx = app.begin().await.unwrap();
    let refused = ddl::create_fences(&mut *tx).await;
    assert_eq!(code(&refused.unwrap_err()), "42501");
    let goes_on = sqlx::query("SELECT 1").execute(&mut *tx).await;
    assert!(goes_on.is_ok(), "{goes_on:?}");
    tx.rollback().await.unwrap();
    // Begin a transaction that sqlx does not know.
    let mut connection = app.acquire().await.unwrap();
    sqlx::raw_sql("BEGIN")
        .execute(&mut *connection)
        .await
        .unwrap();
    let refused = ddl::create_fences(&mut *connection).await;
    assert_eq!(code(&refused.unwrap_err()), "42501");
}

/// Creates the table while another transaction has created it but has not committed yet.
async fn created_second(pool: &PgPool, second: &mut PgConnection) -> Result<(), Error> {
    sqlx::raw_sql("DROP TABLE leasehold_fences")
        .execute(pool)
        .await
        .unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *second)
        .await
        .unwrap();
    let mut first = pool.begin().await.unwrap();
    ddl::create_fences(&mut *first).await.unwrap();
    let commits = async {
        let waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1";
        let waits = || sqlx::query_scalar::<_, Option<bool>>(waits).bind(pid);
        while waits().fetch_one(pool).await.unwrap() != Some(true) {}
        first.commit().await.unwrap();
    };
    tokio::join!(ddl::create_fences(second), commits).0
}

#[tokio::test]
async fn on_postgres_concurrent_create_fences_succeeds_also_in_transactions() {
    let (_server, pool) = postgres().await;
    let mut second = pool.acquire().await.unwrap();
    created_second(&pool, &mut second).await.unwrap();

    let mut tx = second.begin().await.unwrap();
    created_second(&pool, &mut tx).await.unwrap();
    // The transaction is still usable.
    sqlx::query("INSERT INTO leasehold_fences VALUES ('a', 1)")
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();

    // In a transaction that sqlx does not know, the original error is returned instead of "transaction is aborted".
    sqlx::raw_sql("BEGIN").execute(&mut *second).await.unwrap();
    let failed = created_second(&pool, &mut second).await;
    assert_eq!(code(&failed.unwrap_err()), "23505");
}

fn code(error: &Error) -> String {
    let Error::Sqlx(error) = error else {
        panic!("{error:?}")
    };
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.unwrap_or_default().into_owned()
}

#[tokio::test]
async fn on_mariadb_add_column_commits_earlier_writes_of_the_transaction() {
    let (_server, pool) = mariadb().await;
    let mut tx = pool.begin().await.unwrap();
    let write = "UPDATE items SET amount = 11 WHERE id = 1";
    sqlx::query(write).execute(&mut *tx).await.unwrap();
    ddl::add_column_named(&mut *tx, "items", "epoch")
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    let read = sqlx::query_scalar("SELECT amount FROM items WHERE id = 1");
    let amount: i64 = read.fetch_one(&pool).await.unwrap();
    assert_eq!(amount, 11);
}
