//! `Fence::begin` and `Fence::query` on the same rows. They protect against each other only if rows are also written
//! with `query` inside of `begin`.

use leasehold_sqlx::Error;

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Runs the same checks on each database. Each write sets the amount to the token of its holder.
macro_rules! together {
    ($pool:expr) => {{
        let pool = $pool;

        // The newer holder writes inside of `begin`, and the late older holder uses `query`.
        let mut tx = fence(9).begin(&pool, "late query").await.unwrap();
        let plain = sqlx::query("UPDATE items SET amount = 9 WHERE id = 1");
        plain.execute(&mut *tx).await.unwrap();
        let fenced = fence(9).query("UPDATE items SET amount = 9 WHERE id = 2");
        fenced.execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        let past_plain = fence(7).query("UPDATE items SET amount = 7 WHERE id = 1");
        let past_plain = past_plain.execute(&pool).await.unwrap();
        assert_eq!(past_plain.rows_affected(), 1);
        let past_fenced = fence(7).query("UPDATE items SET amount = 7 WHERE id = 2");
        refused!(past_fenced.execute(&pool).await);

        // The newer holder writes with `query`, and the late older holder uses `begin`.
        for sql in [
            "UPDATE items SET amount = 9 WHERE id = 3",
            "UPDATE items SET amount = 9 WHERE id = 4",
        ] {
            fence(9).query(sql).execute(&pool).await.unwrap();
        }
        let mut tx = fence(7).begin(&pool, "late begin").await.unwrap();
        let plain = sqlx::query("UPDATE items SET amount = 7 WHERE id = 3");
        let plain = plain.execute(&mut *tx).await.unwrap();
        assert_eq!(plain.rows_affected(), 1);
        let fenced = fence(7).query("UPDATE items SET amount = 7 WHERE id = 4");
        refused!(fenced.execute(&mut *tx).await);
        tx.commit().await.unwrap();

        // A new row has the token that the `INSERT` sets.
        let mut tx = fence(9).begin(&pool, "new rows").await.unwrap();
        for sql in [
            "INSERT INTO items (id, amount) VALUES (5, 9)",
            "INSERT INTO items (id, amount, fencing_token) VALUES (6, 9, 9)",
        ] {
            sqlx::query(sql).execute(&mut *tx).await.unwrap();
        }
        tx.commit().await.unwrap();
        let past_unset = fence(7).query("UPDATE items SET amount = 7 WHERE id = 5");
        let past_unset = past_unset.execute(&pool).await.unwrap();
        assert_eq!(past_unset.rows_affected(), 1);
        let past_set = fence(7).query("UPDATE items SET amount = 7 WHERE id = 6");
        refused!(past_set.execute(&pool).await);

        let amounts = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
        let amounts: Vec<i64> = amounts.fetch_all(&pool).await.unwrap();
        assert_eq!(amounts, [7, 9, 7, 9, 7, 9]);
    }};
}

macro_rules! refused {
    ($answer:expr) => {
        let answer = $answer;
        let Err(Error::Stale(stale)) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!((stale.token.get(), stale.current.get()), (7, 9));
    };
}

#[tokio::test]
async fn on_sqlite_queries_inside_and_outside_of_begin_refuse_older_tokens() {
    together!(sqlite().await);
}

#[tokio::test]
async fn on_postgres_queries_inside_and_outside_of_begin_refuse_older_tokens() {
    let (_server, pool) = postgres().await;
    together!(pool);
}

#[tokio::test]
async fn on_mariadb_queries_inside_and_outside_of_begin_refuse_older_tokens() {
    let (_server, pool) = mariadb().await;
    together!(pool);
}
