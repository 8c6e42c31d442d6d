//! Decodes the returned rows of a fenced statement as typed values.

use leasehold_sqlx::{Error, Fence, FencedExt};
use sqlx::{Acquire, FromRow, MySqlPool, PgConnection, PgPool, Postgres, QueryBuilder};

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

#[derive(Debug, Clone, Copy, PartialEq, FromRow)]
struct Item {
    id: i64,
    amount: i64,
}

const fn item(id: i64, amount: i64) -> Item {
    Item { id, amount }
}

/// Runs the same checks on each database, which differ only in the placeholders.
macro_rules! typed {
    ($pool:expr, $database:ty, $update:literal, $add:literal, $delete:literal) => {{
        let pool = $pool;
        let amounts = async || -> Vec<i64> {
            let read = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
            read.fetch_all(&pool).await.unwrap()
        };
        let set = |amount: i64, id: i64| {
            sqlx::query_as::<$database, Item>($update)
                .bind(amount)
                .bind(id)
        };
        let by = fence(5);
        assert_eq!(
            set(11, 1).fenced(&by).fetch_one(&pool).await.unwrap(),
            item(1, 11)
        );
        let mut tx = pool.begin().await.unwrap();
        let some = set(12, 1).fenced(&by).fetch_optional(&mut *tx).await;
        assert_eq!(some.unwrap(), Some(item(1, 12)));
        tx.commit().await.unwrap();
        let all = set(13, 1).fenced(&by).fetch_all(&pool).await.unwrap();
        assert_eq!(all, [item(1, 13)]);

        // A missing row is `None` or `NotFound`, and a stale row is an error in all fetch methods.
        let gone = set(0, 99).fenced(&by).fetch_optional(&pool).await.unwrap();
        assert_eq!(gone, None);
        let gone = set(0, 99).fenced(&by).fetch_one(&pool).await;
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        let late = fence(4);
        for stale in [
            set(0, 1).fenced(&late).fetch_one(&pool).await.map(drop),
            set(0, 1)
                .fenced(&late)
                .fetch_optional(&pool)
                .await
                .map(drop),
            set(0, 1).fenced(&late).fetch_all(&pool).await.map(drop),
            set(0, 1)
                .fenced(&late)
                .expect_rows(1)
                .fetch_all(&pool)
                .await
                .map(drop),
        ] {
            let Err(Error::Stale(stale)) = stale else {
                panic!("{stale:?}")
            };
            assert_eq!((stale.token.get(), stale.current.get()), (4, 5));
        }
        assert_eq!(amounts().await, [13, 20, 30, 40]);

        // Of several rows only those that are not stale are written. With `expect_rows`, all of them or none are
        // written.
        let add = |by: i64| sqlx::query_scalar::<$database, i64>($add).bind(by);
        let mut some = add(1).fenced(&late).fetch_all(&pool).await.unwrap();
        some.sort_unstable();
        assert_eq!(some, [21, 31, 41]);
        let partly = add(1).fenced(&late).expect_rows(4).fetch_all(&pool).await;
        let expected = matches!(
            partly,
            Err(Error::PartiallyStale {
                applied: 3,
                stale: 1
            })
        );
        assert!(expected, "{partly:?}");
        assert_eq!(amounts().await, [13, 21, 31, 41]);

        // Statements of `QueryBuilder`.
        let mut builder = QueryBuilder::<$database>::new("UPDATE items SET amount = ");
        builder
            .push_bind(6_i64)
            .push(" WHERE id = ")
            .push_bind(2_i64);
        let build = builder
            .push(" RETURNING id, amount")
            .build_query_as::<Item>();
        assert_eq!(
            build.fenced(&fence(6)).fetch_one(&pool).await.unwrap(),
            item(2, 6)
        );
        builder.reset();
        builder
            .push_bind(7_i64)
            .push(" WHERE id = ")
            .push_bind(2_i64);
        let build = builder
            .push(" RETURNING amount")
            .build_query_scalar::<i64>();
        let stale = build.fenced(&by).fetch_optional(&pool).await;
        assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");

        // Statements of the fence.
        let pair: (i64, i64) = fence(6)
            .query_as($update)
            .bind(8_i64)
            .bind(3_i64)
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(pair, (3, 8));
        let stale = fence(5)
            .query_scalar::<_, i64>($update)
            .bind(0_i64)
            .bind(3_i64);
        let stale = stale.fetch_optional(&pool).await;
        assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");

        // A row cannot be decoded. With `expect_rows` the write is rolled back, without it the write stays.
        let wrong = || {
            sqlx::query_as::<$database, (String,)>($update)
                .bind(1_i64)
                .bind(4_i64)
        };
        let failed = wrong()
            .fenced(&fence(6))
            .expect_rows(1)
            .fetch_one(&pool)
            .await;
        assert!(
            matches!(failed, Err(Error::Sqlx(sqlx::Error::ColumnDecode { .. }))),
            "{failed:?}"
        );
        assert_eq!(amounts().await, [13, 6, 8, 41]);
        let failed = wrong().fenced(&fence(6)).fetch_one(&pool).await;
        assert!(matches!(failed, Err(Error::Sqlx(_))), "{failed:?}");
        assert_eq!(amounts().await, [13, 6, 8, 1]);

        // `SELECT … FOR UPDATE` is refused. A write that changes nothing else reads rows under the fence.
        let select = "SELECT amount FROM items WHERE id = 1 FOR UPDATE";
        let refused = sqlx::query_scalar::<$database, i64>(select)
            .fenced(&by)
            .fetch_one(&pool)
            .await;
        let Err(Error::Rewrite { remedy, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            remedy.contains("UPDATE … SET id = id WHERE … RETURNING"),
            "{remedy}"
        );
        let read = "UPDATE items SET id = id WHERE id = 1 RETURNING amount";
        let read = |number| sqlx::query_scalar::<$database, i64>(read).fenced(&fence(number));
        assert_eq!(read(9).fetch_one(&pool).await.unwrap(), 13);
        let stale = read(8).fetch_one(&pool).await;
        assert!(
            matches!(stale, Err(Error::Stale(_))),
            "the token was noted: {stale:?}"
        );

        let gone = sqlx::query_scalar::<$database, i64>($delete).bind(0_i64);
        let mut gone = gone
            .fenced(&fence(9))
            .expect_rows(4)
            .fetch_all(&pool)
            .await
            .unwrap();
        gone.sort_unstable();
        assert_eq!(gone, [1, 2, 3, 4]);
    }};
}

#[tokio::test]
async fn on_sqlite_rows_of_fenced_statements_are_decoded_as_types() {
    typed!(
        sqlite().await,
        sqlx::Sqlite,
        "UPDATE items SET amount = ? WHERE id = ? RETURNING id, amount",
        "UPDATE items SET amount = amount + ? RETURNING amount",
        "DELETE FROM items WHERE id > ? RETURNING id"
    );
}

#[tokio::test]
async fn on_postgres_rows_of_fenced_statements_are_decoded_as_types() {
    let (_server, pool) = postgres().await;
    typed!(
        pool,
        Postgres,
        "UPDATE items SET amount = $1 WHERE id = $2 RETURNING id, amount",
        "UPDATE items SET amount = amount + $1 RETURNING amount",
        "DELETE FROM items WHERE id > $1 RETURNING id"
    );
}

#[tokio::test]
async fn on_mariadb_rows_of_fenced_deletes_are_decoded_as_types() {
    let (_server, pool) = mariadb().await;
    let gone: Vec<Item> = fence(5)
        .query_as("DELETE FROM items WHERE id <= ? RETURNING id, amount")
        .bind(1)
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(gone, [item(1, 10)]);
    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 2");
    newer.execute(&pool).await.unwrap();
    let delete = async |pool: &MySqlPool, number: i64| {
        let delete = "DELETE FROM items WHERE id = ? RETURNING amount";
        let delete = fence(number).query_scalar::<_, i64>(delete).bind(2);
        delete.fetch_optional(pool).await
    };
    let stale = delete(&pool, 8).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
    assert_eq!(delete(&pool, 9).await.unwrap(), Some(9));
    assert_eq!(delete(&pool, 9).await.unwrap(), None);
}

/// Takes a pool, a connection, or a transaction.
async fn set<'c>(
    at: impl Acquire<'c, Database = Postgres> + Send,
    by: &Fence,
) -> Result<i64, Error> {
    let set = sqlx::query_scalar("UPDATE items SET amount = $1 WHERE id = 1 RETURNING amount");
    set.bind(by.token().get()).fenced(by).fetch_one(at).await
}

async fn set_at(at: &mut PgConnection, by: &Fence) -> Result<i64, Error> {
    set(at, by).await
}

/// Needs only the errors of this crate.
async fn within(pool: &PgPool, by: Fence) -> Result<i64, Error> {
    let mut tx = by.begin(pool, "items").await?;
    let first = set(&mut *tx, &by).await?;
    let second = set_at(&mut tx, &by).await?;
    tx.commit().await?;
    Ok(first + second)
}

#[tokio::test]
async fn fenced_query_runs_in_generic_functions_and_spawned_tasks() {
    let (_server, pool) = postgres().await;
    assert_eq!(set(&pool, &fence(3)).await.unwrap(), 3);
    let task = tokio::spawn(async move {
        let sum = within(&pool, fence(4)).await?;
        let stale = within(&pool, fence(3)).await;
        assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
        Ok::<_, Error>(sum)
    });
    assert_eq!(task.await.unwrap().unwrap(), 8);
}
