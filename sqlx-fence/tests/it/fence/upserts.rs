//! The remedy in the error for a refused `INSERT … ON CONFLICT`: a fenced `UPDATE`, and then an `INSERT`.

use leasehold_sqlx::Error;
use sqlx::{MySqlPool, PgPool, SqlitePool};
use tokio::task::JoinSet;

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Runs the same checks on each database, which differ only in the placeholders.
macro_rules! upserts {
    ($pool:expr, $Pool:ty, $update:literal, $insert:literal) => {{
        let pool = $pool;
        async fn put(pool: &$Pool, number: i64, id: i64) -> Result<(), Error> {
            let by = fence(number);
            let mut tx = by.begin(pool, "items").await?;
            let update = by.query($update).bind(number).bind(id);
            if update.execute(&mut *tx).await?.rows_affected() == 0 {
                let insert = sqlx::query($insert).bind(id).bind(number).bind(number);
                insert.execute(&mut *tx).await?;
            }
            Ok(tx.commit().await?)
        }
        let amount = async |id: i64| -> i64 {
            let read = format!("SELECT amount FROM items WHERE id = {id}");
            let read = sqlx::query_scalar(sqlx::AssertSqlSafe(read));
            read.fetch_one(&pool).await.unwrap()
        };

        for number in [5, 6] {
            put(&pool, number, 7).await.unwrap();
            assert_eq!(amount(7).await, number);
        }
        let late = put(&pool, 5, 7).await;
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
        // An older token is also refused for a row that was written without `begin`, and for the inserted row.
        let write = fence(9).query($update).bind(9_i64).bind(1_i64);
        write.execute(&pool).await.unwrap();
        put(&pool, 7, 8).await.unwrap();
        for (number, id) in [(8, 1), (6, 8)] {
            let late = put(&pool, number, id).await;
            assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
            let write = fence(6).query($update).bind(0_i64).bind(id);
            let late = write.execute(&pool).await;
            assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
        }
        assert_eq!((amount(1).await, amount(8).await), (9, 7));

        // Many concurrent calls insert one row, and the newest token writes last.
        let mut all = JoinSet::new();
        for number in 20..28 {
            let pool = pool.clone();
            all.spawn(async move { put(&pool, number, 9).await });
        }
        while let Some(one) = all.join_next().await {
            let one = one.unwrap();
            assert!(matches!(one, Ok(()) | Err(Error::Stale(_))), "{one:?}");
        }
        assert_eq!(amount(9).await, 27);
    }};
}

#[tokio::test]
async fn on_sqlite_update_then_insert_inside_begin_refuses_older_tokens() {
    upserts!(
        sqlite().await,
        SqlitePool,
        "UPDATE items SET amount = ? WHERE id = ?",
        "INSERT INTO items (id, amount, fencing_token) VALUES (?, ?, ?)"
    );
}

#[tokio::test]
async fn on_postgres_update_then_insert_inside_begin_refuses_older_tokens() {
    let (_server, pool) = postgres().await;
    upserts!(
        pool,
        PgPool,
        "UPDATE items SET amount = $1 WHERE id = $2",
        "INSERT INTO items (id, amount, fencing_token) VALUES ($1, $2, $3)"
    );
}

#[tokio::test]
async fn on_mariadb_update_then_insert_inside_begin_refuses_older_tokens() {
    let (_server, pool) = mariadb().await;
    upserts!(
        pool,
        MySqlPool,
        "UPDATE items SET amount = ? WHERE id = ?",
        "INSERT INTO items (id, amount, fencing_token) VALUES (?, ?, ?)"
    );
}
