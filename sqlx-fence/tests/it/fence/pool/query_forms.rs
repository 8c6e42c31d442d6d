//! All forms of sqlx's queries, on each database.

use futures_util::{StreamExt, TryStreamExt};
use leasehold_sqlx::{Error, FencedPool};
use sqlx::{Executor, FromRow, MySql, Postgres, QueryBuilder, Row, SqlSafeStr, Sqlite, Statement};

use super::{held, number};
use crate::fence::tools::{mariadb, postgres, sqlite};

#[derive(Debug, Clone, Copy, PartialEq, FromRow)]
struct Item {
    id: i64,
    amount: i64,
}

const fn item(id: i64, amount: i64) -> Item {
    Item { id, amount }
}

/// Forms that are the same on each database, except for the placeholders.
macro_rules! forms {
    ($plain:expr, $DB:ty, $set:literal, $read:literal, $delete:literal) => {{
        let plain = $plain;
        let pool = FencedPool::new(plain.clone());
        let tokens = async || -> Vec<usize> {
            let read = sqlx::query_scalar("SELECT fencing_token FROM items ORDER BY id");
            let tokens: Vec<i64> = read.fetch_all(&plain).await.unwrap();
            tokens.into_iter().map(number).collect()
        };
        let set = |amount: i64, id: i64| sqlx::query($set).bind(amount).bind(id);
        let stale = |error: sqlx::Error, older: usize, newer: usize| match Error::from(error) {
            Error::Stale(stale) => {
                let numbers = (number(stale.token.get()), number(stale.current.get()));
                assert_eq!(numbers, (older, newer));
            }
            other => panic!("{other:?}"),
        };

        // Writes.
        held(5, async {
            let done = set(11, 1).execute(&pool).await.unwrap();
            assert_eq!(done.rows_affected(), 1);
            assert_eq!(set(0, 99).execute(&pool).await.unwrap().rows_affected(), 0);
            let none = set(0, 99).fetch_one(&pool).await;
            assert!(matches!(none, Err(sqlx::Error::RowNotFound)), "{none:?}");
            assert!(set(12, 1).fetch_all(&pool).await.unwrap().is_empty());
        })
        .await;
        assert_eq!(tokens().await, [5, 0, 0, 0]);
        held(4, async {
            stale(set(0, 1).execute(&pool).await.unwrap_err(), 4, 5);
            stale(set(0, 1).fetch_all(&pool).await.unwrap_err(), 4, 5);
            stale(set(0, 1).fetch_one(&pool).await.unwrap_err(), 4, 5);
            stale(set(0, 1).fetch_optional(&pool).await.unwrap_err(), 4, 5);
            let streamed: Result<Vec<_>, _> = set(0, 1).fetch(&pool).try_collect().await;
            stale(streamed.unwrap_err(), 4, 5);
            stale(
                pool.execute("UPDATE items SET amount = 0 WHERE id = 1")
                    .await
                    .unwrap_err(),
                4,
                5,
            );
            stale(
                sqlx::raw_sql("DELETE FROM items WHERE id = 1")
                    .execute(&pool)
                    .await
                    .unwrap_err(),
                4,
                5,
            );
            stale(
                sqlx::query($delete)
                    .bind(1_i64)
                    .execute(&pool)
                    .await
                    .unwrap_err(),
                4,
                5,
            );
            // Of several rows it writes those that are not stale.
            let rest = sqlx::query("UPDATE items SET amount = amount + 1")
                .execute(&pool)
                .await;
            assert_eq!(rest.unwrap().rows_affected(), 3);
        })
        .await;
        assert_eq!(tokens().await, [5, 4, 4, 4]);

        // Statements that are prepared.
        held(6, async {
            let prepared = pool.prepare($set.into_sql_str()).await.unwrap();
            for amount in [13_i64, 14] {
                let done = prepared
                    .query()
                    .bind(amount)
                    .bind(1_i64)
                    .execute(&pool)
                    .await
                    .unwrap();
                assert_eq!(done.rows_affected(), 1);
            }
        })
        .await;
        assert_eq!(tokens().await[0], 6);

        // Statements that are built. The second row is new, the first one exists.
        held(7, async {
            let mut builder = QueryBuilder::<$DB>::new("UPDATE items SET amount = ");
            builder.push_bind(15_i64).push(" WHERE id IN (");
            builder.separated(", ").push_bind(1_i64).push_bind(2_i64);
            let done = builder.push(")").build().execute(&pool).await.unwrap();
            assert_eq!(done.rows_affected(), 2);
            let mut builder = QueryBuilder::<$DB>::new("INSERT INTO items (id, amount) ");
            builder.push_values([(5_i64, 50_i64), (6, 60)], |mut row, (id, amount)| {
                row.push_bind(id).push_bind(amount);
            });
            let done = builder.build().execute(&pool).await.unwrap();
            assert_eq!(done.rows_affected(), 2);
            let copied =
                "INSERT INTO items (id, amount) SELECT id + 10, amount FROM items WHERE id > 4";
            assert_eq!(
                sqlx::query(copied)
                    .execute(&pool)
                    .await
                    .unwrap()
                    .rows_affected(),
                2
            );
            // A key that exists is still an error of the database.
            let twice = sqlx::query("INSERT INTO items (id, amount) VALUES (5, 1)")
                .execute(&pool)
                .await;
            assert!(
                twice
                    .unwrap_err()
                    .as_database_error()
                    .unwrap()
                    .is_unique_violation()
            );
        })
        .await;
        assert_eq!(tokens().await, [7, 7, 4, 4, 7, 7, 7, 7]);
        held(6, async {
            stale(set(0, 16).execute(&pool).await.unwrap_err(), 6, 7);
        })
        .await;

        // Reads, without a lock.
        let all: Vec<Item> = sqlx::query_as("SELECT id, amount FROM items ORDER BY id")
            .fetch_all(&pool)
            .await
            .unwrap();
        assert_eq!(all.len(), 8);
        assert_eq!(all[..2], [item(1, 15), item(2, 15)]);
        assert_eq!(
            all[4..],
            [item(5, 50), item(6, 60), item(15, 50), item(16, 60)]
        );
        let read = || sqlx::query_scalar::<$DB, i64>($read).bind(1_i64);
        assert_eq!(read().fetch_one(&pool).await.unwrap(), 15);
        assert_eq!(read().fetch_optional(&pool).await.unwrap(), Some(15));
        assert_eq!(read().fetch_all(&pool).await.unwrap(), [15]);
        let streamed: Vec<i64> = read().fetch(&pool).try_collect().await.unwrap();
        assert_eq!(streamed, [15]);
        let mapped = sqlx::query($read)
            .bind(1_i64)
            .map(|row: <$DB as sqlx::Database>::Row| row.get::<i64, _>(0) + 1);
        assert_eq!(mapped.fetch_one(&pool).await.unwrap(), 16);
        let mapped = sqlx::query($read)
            .bind(1_i64)
            .try_map(|row: <$DB as sqlx::Database>::Row| row.try_get::<i64, _>(0));
        assert_eq!(mapped.fetch_all(&pool).await.unwrap(), [15]);
        let mut builder = QueryBuilder::<$DB>::new("SELECT id, amount FROM items WHERE id = ");
        let built = builder.push_bind(1_i64).build_query_as::<Item>();
        assert_eq!(built.fetch_one(&pool).await.unwrap(), item(1, 15));
        let described = pool.describe($read.into_sql_str()).await.unwrap();
        assert_eq!(described.columns().len(), 1);
        let prepared = pool.prepare($read.into_sql_str()).await.unwrap();
        let read: i64 = prepared
            .query_scalar()
            .bind(1_i64)
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(read, 15);
        for read in [
            "SELECT 1;",
            "WITH one AS (SELECT 1 AS n) SELECT replace('a', 'b', 'c') FROM one",
            "EXPLAIN SELECT * FROM items",
            "VALUES (1), (2)",
        ] {
            assert!(
                !sqlx::query(read).fetch_all(&pool).await.unwrap().is_empty(),
                "{read}"
            );
        }
        pool
    }};
}

/// Rows that a write returns.
macro_rules! returning {
    ($pool:expr, $DB:ty, $write:literal, $values:expr, $rows:expr) => {{
        let pool: &FencedPool<$DB> = &$pool;
        let rows: Vec<Item> = $rows;
        let count = async || -> i64 {
            let read = sqlx::query_scalar("SELECT count(*) FROM items");
            read.fetch_one(pool).await.unwrap()
        };
        let mut values = $values.into_iter();
        let mut rows = rows.into_iter();
        let mut write = || sqlx::query_as::<$DB, Item>($write).bind(values.next().unwrap());
        let before = count().await;
        held(9, async {
            assert_eq!(write().fetch_one(pool).await.unwrap(), rows.next().unwrap());
            assert_eq!(write().fetch_optional(pool).await.unwrap(), rows.next());
            assert_eq!(
                write().fetch_all(pool).await.unwrap(),
                [rows.next().unwrap()]
            );
            let streamed: Vec<Item> = write().fetch(pool).try_collect().await.unwrap();
            assert_eq!(streamed, [rows.next().unwrap()]);
        })
        .await;
        held(9, async {
            let mapped = sqlx::query($write).bind(values.next().unwrap());
            let mapped = mapped.map(|row: <$DB as sqlx::Database>::Row| row.get::<i64, _>("id"));
            assert_eq!(
                mapped.fetch_one(pool).await.unwrap(),
                rows.next().unwrap().id
            );
            let done = sqlx::query($write)
                .bind(values.next().unwrap())
                .execute(pool)
                .await;
            done.unwrap();
        })
        .await;
        count().await - before
    }};
}

const UPDATE: [i64; 6] = [1; 6];

fn updated() -> Vec<Item> {
    (16..22).map(|amount| item(1, amount)).collect()
}

fn inserted() -> Vec<Item> {
    (101..107).map(|id| item(id, 7)).collect()
}

#[tokio::test]
async fn on_sqlite_fenced_pool_executes_all_forms_of_queries() {
    let pool = forms!(
        sqlite().await,
        Sqlite,
        "UPDATE items SET amount = ? WHERE id = ?",
        "SELECT amount FROM items WHERE id = ?",
        "DELETE FROM items WHERE id = ?"
    );
    let changed = returning!(
        pool,
        Sqlite,
        "UPDATE items SET amount = amount + 1 WHERE id = ? RETURNING id, amount",
        UPDATE,
        updated()
    );
    assert_eq!(changed, 0);
    let added = returning!(
        pool,
        Sqlite,
        "INSERT INTO items (id, amount) VALUES (?, 7) RETURNING id, amount",
        101..107,
        inserted()
    );
    assert_eq!(added, 6);
    // A read is streamed: this one has no end.
    let endless =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let first = sqlx::query_scalar::<_, i64>(endless).fetch(&pool).take(3);
    let first: Vec<i64> = first.try_collect().await.unwrap();
    assert_eq!(first, [1, 2, 3]);
    let again =
        "INSERT INTO items (id, amount) VALUES (101, 8) ON CONFLICT DO NOTHING RETURNING id";
    let none = held(9, sqlx::query(again).fetch_optional(&pool)).await;
    assert!(none.unwrap().is_none());
    let ignored = "INSERT OR IGNORE INTO items (id, amount) VALUES (101, 8)";
    let none = held(9, sqlx::query(ignored).execute(&pool)).await;
    assert_eq!(none.unwrap().rows_affected(), 0);
}

#[tokio::test]
async fn on_postgres_fenced_pool_executes_all_forms_of_queries() {
    let (_server, plain) = postgres().await;
    let pool = forms!(
        plain,
        Postgres,
        "UPDATE items SET amount = $1 WHERE id = $2",
        "SELECT amount FROM items WHERE id = $1",
        "DELETE FROM items WHERE id = $1"
    );
    let changed = returning!(
        pool,
        Postgres,
        "UPDATE items SET amount = amount + 1 WHERE id = $1 RETURNING id, amount",
        UPDATE,
        updated()
    );
    assert_eq!(changed, 0);
    let added = returning!(
        pool,
        Postgres,
        "INSERT INTO items AS i (id, amount) VALUES ($1, 7) ON CONFLICT (id) DO NOTHING RETURNING id, amount",
        101_i64..107,
        inserted()
    );
    assert_eq!(added, 6);
    let with = "WITH new AS (SELECT $1::bigint AS id) INSERT INTO items (id, amount) SELECT id, $2 FROM new";
    let done = held(
        9,
        sqlx::query(with).bind(201_i64).bind(5_i64).execute(&pool),
    )
    .await;
    assert_eq!(done.unwrap().rows_affected(), 1);
    for read in ["TABLE items", "SHOW lock_timeout", "SELECT 1 AS update"] {
        assert!(
            !sqlx::query(read).fetch_all(&pool).await.unwrap().is_empty(),
            "{read}"
        );
    }
}

#[tokio::test]
async fn on_mariadb_fenced_pool_executes_all_forms_of_queries() {
    let (_server, plain) = mariadb().await;
    let pool = forms!(
        plain,
        MySql,
        "UPDATE items SET amount = ? WHERE id = ?",
        "SELECT amount FROM items WHERE id = ?",
        "DELETE FROM items WHERE id = ?"
    );
    let added = returning!(
        pool,
        MySql,
        "INSERT INTO items (id, amount) VALUES (?, 7) RETURNING id, amount",
        101..107,
        inserted()
    );
    assert_eq!(added, 6);
    let removed = returning!(
        pool,
        MySql,
        "DELETE FROM items WHERE id = ? RETURNING id, amount",
        101..107,
        inserted()
    );
    assert_eq!(removed, -6);
    let ignored = "INSERT IGNORE INTO items (id, amount) VALUES (1, 8)";
    let none = held(9, sqlx::query(ignored).execute(&pool)).await;
    assert_eq!(none.unwrap().rows_affected(), 0);
    for read in [
        "SHOW TABLES",
        "(SELECT 1) UNION (SELECT 2)",
        "DESCRIBE items",
        "SELECT `update` FROM (SELECT 1 AS `update`) AS one",
    ] {
        assert!(
            !sqlx::query(read).fetch_all(&pool).await.unwrap().is_empty(),
            "{read}"
        );
    }
    // Values of the statement that the question for the reason does not need.
    let write = "UPDATE items SET amount = ? + ? WHERE id = ? AND amount <> ? ORDER BY ?";
    let write = || {
        sqlx::query(write)
            .bind(1)
            .bind(2)
            .bind(1)
            .bind(-1)
            .bind("id")
    };
    assert_eq!(
        held(9, write().execute(&pool))
            .await
            .unwrap()
            .rows_affected(),
        1
    );
    let late = held(8, write().execute(&pool)).await.map_err(Error::from);
    assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
}
