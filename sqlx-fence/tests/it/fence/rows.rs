//! The number of written rows, and the reason if it is too small.

use leasehold_sqlx::{Error, Fence};
use sqlx::{Acquire, Connection, Row};

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Runs the same checks on each database, which differ only in the placeholders.
macro_rules! rows {
    ($pool:expr, $one:literal, $all:literal) => {{
        let pool = $pool;
        let amounts = async || -> Vec<i64> {
            let read = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
            read.fetch_all(&pool).await.unwrap()
        };
        // The same holder writes on a pool, on a connection and in a transaction.
        fence(5)
            .query($one)
            .bind(11)
            .bind(1)
            .execute(&pool)
            .await
            .unwrap();
        let mut connection = pool.acquire().await.unwrap();
        fence(5)
            .query($one)
            .bind(12)
            .bind(1)
            .execute(&mut *connection)
            .await
            .unwrap();
        let mut tx = connection.begin().await.unwrap();
        let done = fence(5)
            .query($one)
            .bind(13)
            .bind(1)
            .execute(&mut *tx)
            .await
            .unwrap();
        assert_eq!(done.rows_affected(), 1);
        tx.commit().await.unwrap();
        drop(connection);
        assert_eq!(amounts().await, [13, 20, 30, 40]);

        // An older token is refused. A write to a missing row writes no row.
        let stale = fence(4).query($one).bind(0).bind(1).execute(&pool).await;
        let Err(Error::Stale(stale)) = stale else {
            panic!("{stale:?}")
        };
        assert_eq!((stale.token.get(), stale.current.get()), (4, 5));
        let none = fence(4)
            .query($one)
            .bind(0)
            .bind(99)
            .execute(&pool)
            .await
            .unwrap();
        assert_eq!(none.rows_affected(), 0);

        // Of several rows only those that are not stale are written. With `expect_rows`, all of them or none are
        // written.
        let done = fence(4).query($all).bind(1).execute(&pool).await.unwrap();
        assert_eq!(done.rows_affected(), 3);
        assert_eq!(amounts().await, [13, 21, 31, 41]);
        let partly = fence(4)
            .query($all)
            .bind(1)
            .expect_rows(4)
            .execute(&pool)
            .await;
        let Err(Error::PartiallyStale {
            applied: 3,
            stale: 1,
        }) = partly
        else {
            panic!("{partly:?}")
        };
        assert_eq!(amounts().await, [13, 21, 31, 41]);
        let missing = fence(6)
            .query($one)
            .bind(0)
            .bind(99)
            .expect_rows(1)
            .execute(&pool)
            .await;
        let Err(Error::NotFound {
            expected: 1,
            applied: 0,
        }) = missing
        else {
            panic!("{missing:?}")
        };
        let few = fence(6)
            .query($all)
            .bind(1)
            .expect_rows(5)
            .execute(&pool)
            .await;
        assert!(
            matches!(
                few,
                Err(Error::NotFound {
                    expected: 5,
                    applied: 4
                })
            ),
            "{few:?}"
        );
        let many = fence(6)
            .query($all)
            .bind(1)
            .expect_rows(3)
            .execute(&pool)
            .await;
        assert!(
            matches!(
                many,
                Err(Error::TooMany {
                    expected: 3,
                    applied: 4
                })
            ),
            "{many:?}"
        );
        let stale = fence(4)
            .query($one)
            .bind(0)
            .bind(1)
            .expect_rows(1)
            .execute(&pool)
            .await;
        assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
        assert_eq!(amounts().await, [13, 21, 31, 41]);

        // `expect_rows(0)` still reports a newer token.
        let no_row = |number, id| {
            let query = fence(number).query($one).bind(0).bind(id);
            query.expect_rows(0).execute(&pool)
        };
        let stale = no_row(4, 1).await;
        assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
        assert_eq!(no_row(4, 99).await.unwrap().rows_affected(), 0);
        let many = no_row(6, 1).await;
        assert!(
            matches!(
                many,
                Err(Error::TooMany {
                    expected: 0,
                    applied: 1
                })
            ),
            "{many:?}"
        );
        assert_eq!(amounts().await, [13, 21, 31, 41]);

        // Only the statement is rolled back, not the surrounding transaction.
        let mut tx = pool.begin().await.unwrap();
        fence(6)
            .query($one)
            .bind(99)
            .bind(2)
            .execute(&mut *tx)
            .await
            .unwrap();
        let partly = fence(4)
            .query($all)
            .bind(1)
            .expect_rows(4)
            .execute(&mut *tx)
            .await;
        assert!(
            matches!(
                partly,
                Err(Error::PartiallyStale {
                    applied: 2,
                    stale: 2
                })
            ),
            "{partly:?}"
        );
        tx.commit().await.unwrap();
        assert_eq!(amounts().await, [13, 99, 31, 41]);
        fence(6)
            .query($all)
            .bind(1)
            .expect_rows(4)
            .execute(&pool)
            .await
            .unwrap();
        assert_eq!(amounts().await, [14, 100, 32, 42]);
        pool
    }};
}

#[tokio::test]
async fn on_sqlite_written_rows_are_counted_and_stale_rows_reported() {
    let pool = sqlite().await;
    rows!(
        pool,
        "UPDATE items SET amount = ? WHERE id = ?",
        "UPDATE items SET amount = amount + ?"
    );
}

#[tokio::test]
async fn on_postgres_written_rows_are_counted_and_stale_rows_reported() {
    let (_server, pool) = postgres().await;
    let pool = rows!(
        pool,
        "UPDATE items SET amount = $1 WHERE id = $2",
        "UPDATE items SET amount = amount + $1"
    );

    // Two statements on one connection have the same probe, and bind different types for a value that the probe does
    // not use.
    sqlx::raw_sql("ALTER TABLE items ADD COLUMN note TEXT")
        .execute(&pool)
        .await
        .unwrap();
    let mut connection = pool.acquire().await.unwrap();
    let number = fence(4)
        .query("UPDATE items SET amount = $1 WHERE id = $2")
        .bind(1)
        .bind(1);
    let stale = number.execute(&mut *connection).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
    let text = fence(4)
        .query("UPDATE items SET note = $1 WHERE id = $2")
        .bind("x")
        .bind(1);
    let stale = text.execute(&mut *connection).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
}

#[tokio::test]
async fn on_mariadb_written_rows_are_counted_and_stale_rows_reported() {
    let (_server, pool) = mariadb().await;
    let pool = rows!(
        pool,
        "UPDATE items SET amount = ? WHERE id = ?",
        "UPDATE items SET amount = amount + ?"
    );

    // In a `REPEATABLE READ` transaction that has read before, the newer token is still seen.
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM items")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    fence(9)
        .query("UPDATE items SET amount = 7 WHERE id = 1")
        .execute(&pool)
        .await
        .unwrap();
    let stale = fence(8)
        .query("UPDATE items SET amount = ? WHERE id = ?")
        .bind(0)
        .bind(1);
    let stale = stale.execute(&mut *tx).await;
    assert!(
        matches!(stale, Err(Error::Stale(it)) if it.current.get() == 9),
        "{stale:?}"
    );
}

/// Checks `RETURNING` on databases that support it.
macro_rules! returning {
    ($pool:expr, $update:literal, $delete:literal) => {
        let row = fence(5)
            .query($update)
            .bind(11)
            .bind(1)
            .fetch_one(&$pool)
            .await
            .unwrap();
        assert_eq!(row.get::<i64, _>("amount"), 11);
        let row = fence(5)
            .query($update)
            .bind(0)
            .bind(99)
            .fetch_optional(&$pool)
            .await
            .unwrap();
        assert!(row.is_none());
        let none = fence(5)
            .query($update)
            .bind(0)
            .bind(99)
            .fetch_one(&$pool)
            .await;
        assert!(matches!(none.err(), Some(Error::NotFound { .. })));
        for _ in 0..2 {
            let stale = fence(4)
                .query($update)
                .bind(0)
                .bind(1)
                .fetch_optional(&$pool)
                .await;
            assert!(matches!(stale.err(), Some(Error::Stale(_))));
            let stale = fence(4)
                .query($delete)
                .bind(0)
                .fetch_all(&$pool)
                .await
                .unwrap();
            assert_eq!(stale.len(), 0, "only rows above 0 are looked for");
        }
        let few = fence(4)
            .query($delete)
            .bind(5)
            .expect_rows(1)
            .fetch_all(&$pool)
            .await;
        assert!(matches!(
            few.err(),
            Some(
                Error::TooMany { applied: 3, .. }
                    | Error::PartiallyStale {
                        applied: 3,
                        stale: 1
                    }
            )
        ));
        let gone = fence(5)
            .query($delete)
            .bind(5)
            .expect_rows(4)
            .fetch_all(&$pool)
            .await
            .unwrap();
        assert_eq!(gone.len(), 4);
    };
}

#[tokio::test]
async fn rows_of_fenced_statements_with_returning_are_fetched() {
    let pool = sqlite().await;
    returning!(
        pool,
        "UPDATE items SET amount = ? WHERE id = ? RETURNING amount",
        "DELETE FROM items WHERE id < ? RETURNING id"
    );
    let (_server, pool) = postgres().await;
    returning!(
        pool,
        "UPDATE items SET amount = $1 WHERE id = $2 RETURNING amount",
        "DELETE FROM items WHERE id < $1 RETURNING id"
    );
    let (_server, pool) = mariadb().await;
    let gone = fence(5)
        .query("DELETE FROM items WHERE id < ? RETURNING id")
        .bind(3);
    assert_eq!(gone.fetch_all(&pool).await.unwrap().len(), 2);

    let without = fence(5).query("DELETE FROM items").fetch_all(&pool).await;
    let Some(Error::Rewrite { remedy, .. }) = without.err() else {
        panic!("it has no RETURNING")
    };
    assert!(remedy.contains("execute"), "{remedy}");
}

#[tokio::test]
async fn null_token_is_older_than_any_and_the_column_name_can_be_set() {
    let pool = sqlite().await;
    sqlx::raw_sql("ALTER TABLE items ADD COLUMN epoch BIGINT")
        .execute(&pool)
        .await
        .unwrap();
    let by = |number| fence(number).with_column("epoch").unwrap();
    let sql = "UPDATE items SET amount = 1 WHERE id = 1";
    by(3).query(sql).execute(&pool).await.unwrap();
    assert!(matches!(
        by(2).query(sql).execute(&pool).await,
        Err(Error::Stale(_))
    ));
    assert!(
        fence(1).query(sql).execute(&pool).await.is_ok(),
        "another column"
    );
    for bad in [
        "",
        "Epoch",
        "rowid",
        "oid",
        "_rowid_",
        "1st",
        "a b",
        "a;b",
        "a.b",
        "ä",
        &"x".repeat(64),
    ] {
        let refused = fence(1).with_column(bad.to_owned());
        assert!(matches!(refused, Err(Error::Name { .. })), "{bad:?}");
    }
    assert!(Fence::try_from(0).is_err() && Fence::try_from(-1).is_err());
}

#[tokio::test]
async fn on_postgres_token_column_of_type_int_is_accepted() {
    let (_server, pool) = postgres().await;
    sqlx::raw_sql("ALTER TABLE items ALTER COLUMN fencing_token TYPE INT")
        .execute(&pool)
        .await
        .unwrap();
    let sql = "UPDATE items SET amount = 1 WHERE id = 1";
    fence(3).query(sql).execute(&pool).await.unwrap();
    let stale = fence(2).query(sql).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
}

#[tokio::test]
async fn database_error_is_the_source_and_not_in_the_message() {
    let pool = sqlite().await;
    let failed = fence(3)
        .query("UPDATE nowhere SET amount = 1")
        .execute(&pool)
        .await;
    let error = failed.unwrap_err();
    assert!(!error.to_string().contains("nowhere"), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.to_string().contains("nowhere"), "{source}");
    pool.acquire().await.unwrap().ping().await.unwrap();
}
