//! The documented limits of a fence.

use leasehold_sqlx::Error;

use crate::fence::tools::{fence, mariadb, sqlite};

#[tokio::test]
async fn on_sqlite_or_abort_overrides_the_conflict_clause_of_the_schema() {
    let pool = sqlite().await;
    let schema = "CREATE TABLE seats (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, \
         fencing_token BIGINT NOT NULL DEFAULT 0); \
         INSERT INTO seats VALUES (1, 'a', 9), (2, 'b', 0)";
    sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    let ids = async || -> Vec<i64> {
        let read = sqlx::query_scalar("SELECT id FROM seats ORDER BY id");
        read.fetch_all(&pool).await.unwrap()
    };
    let aborted = fence(5).query("UPDATE OR ABORT seats SET name = 'a' WHERE id = 2");
    assert!(aborted.execute(&pool).await.is_err());
    assert_eq!(ids().await, [1, 2]);
    // This is the limit: the deleted row has a newer token.
    let replaces = fence(5).query("UPDATE seats SET name = 'a' WHERE id = 2");
    replaces.execute(&pool).await.unwrap();
    assert_eq!(ids().await, [2]);
}

#[tokio::test]
async fn stale_row_counts_once_for_each_joined_row() {
    let pool = sqlite().await;
    let schema = "CREATE TABLE parts (item BIGINT); INSERT INTO parts VALUES (1), (1), (2), (2)";
    sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 1");
    newer.execute(&pool).await.unwrap();
    let sql = "UPDATE items SET amount = 5 FROM parts WHERE parts.item = items.id";
    let partly = fence(5).query(sql).expect_rows(2).execute(&pool).await;
    let Err(Error::PartiallyStale {
        applied: 1,
        stale: 2,
    }) = partly
    else {
        panic!("{partly:?}")
    };
}

#[tokio::test]
async fn on_mariadb_fenced_update_without_changes_sets_on_update_timestamps() {
    let (_server, pool) = mariadb().await;
    let schema = "ALTER TABLE items ADD COLUMN changed DATETIME NULL ON UPDATE CURRENT_TIMESTAMP";
    sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    let touched = async || -> i64 {
        let read = sqlx::query_scalar("SELECT count(changed) FROM items");
        read.fetch_one(&pool).await.unwrap()
    };
    let same = "UPDATE items SET amount = amount WHERE id = 1";
    sqlx::query(same).execute(&pool).await.unwrap();
    assert_eq!(touched().await, 0);
    fence(9).query(same).execute(&pool).await.unwrap();
    assert_eq!(touched().await, 1);
}

#[tokio::test]
async fn on_mariadb_subquery_on_an_old_snapshot_hides_a_stale_write() {
    let (_server, pool) = mariadb().await;
    sqlx::raw_sql("CREATE TABLE marked (item BIGINT PRIMARY KEY)")
        .execute(&pool)
        .await
        .unwrap();
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM marked")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 1");
    newer.execute(&pool).await.unwrap();
    sqlx::query("INSERT INTO marked VALUES (1)")
        .execute(&pool)
        .await
        .unwrap();
    let sql = "UPDATE items SET amount = 5 WHERE id IN (SELECT item FROM marked)";
    // This is the limit: the statement is stale, but returns a result with no rows.
    let done = fence(5).query(sql).execute(&mut *tx).await.unwrap();
    assert_eq!(done.rows_affected(), 0);
    tx.commit().await.unwrap();
    let amount: i64 = sqlx::query_scalar("SELECT amount FROM items WHERE id = 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(amount, 9);
}
