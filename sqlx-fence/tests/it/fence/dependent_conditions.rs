//! Statements whose condition or effects depend on more than the written rows.

use leasehold_sqlx::Error;

use crate::fence::tools::{fence, mariadb, postgres, sqlite};

/// Runs the same checks on each database.
macro_rules! depending {
    ($pool:expr) => {{
        let pool = $pool;
        let newer = fence(9).query("UPDATE items SET amount = 10 WHERE id = 1");
        newer.execute(&pool).await.unwrap();
        // After the second row is written, the first is no longer within 10 of the minimum.
        let sql = "UPDATE items SET amount = amount - 100 \
             WHERE amount <= (SELECT least FROM (SELECT min(amount) + 10 AS least FROM items) AS smallest)";
        let mut tx = pool.begin().await.unwrap();
        let in_tx = fence(7).query(sql).expect_rows(2).execute(&mut *tx).await;
        tx.commit().await.unwrap();
        let alone = fence(7).query(sql).expect_rows(2).execute(&pool).await;
        for partly in [in_tx, alone] {
            let Err(Error::PartiallyStale {
                applied: 1,
                stale: 1,
            }) = partly
            else {
                panic!("{partly:?}")
            };
        }
        let amounts = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
        let amounts: Vec<i64> = amounts.fetch_all(&pool).await.unwrap();
        assert_eq!(amounts, [10, 20, 30, 40]);
    }};
}

#[tokio::test]
async fn on_sqlite_stale_rows_are_those_matched_before_the_statement_writes() {
    depending!(sqlite().await);
}

#[tokio::test]
async fn on_postgres_stale_rows_are_those_matched_before_the_statement_writes() {
    let (_server, pool) = postgres().await;
    depending!(pool);
}

#[tokio::test]
async fn on_mariadb_stale_rows_are_those_matched_before_the_statement_writes() {
    let (_server, pool) = mariadb().await;
    depending!(pool);
}

/// A statement trigger also fires if no row is written.
#[tokio::test]
async fn on_postgres_statement_with_expect_rows_0_commits_its_trigger_effects() {
    let (_server, pool) = postgres().await;
    let logged = "CREATE TABLE log (entry BIGINT); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN INSERT INTO log VALUES (1); RETURN NULL; END $$; \
         CREATE TRIGGER note AFTER UPDATE ON items FOR EACH STATEMENT EXECUTE FUNCTION note()";
    sqlx::raw_sql(logged).execute(&pool).await.unwrap();
    let none = fence(7).query("UPDATE items SET amount = 0 WHERE id = 99");
    none.expect_rows(0).execute(&pool).await.unwrap();
    let entries = sqlx::query_scalar("SELECT count(*) FROM log");
    let entries: i64 = entries.fetch_one(&pool).await.unwrap();
    assert_eq!(entries, 1);
}
