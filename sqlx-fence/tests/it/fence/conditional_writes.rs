//! Uses a value as a mark, as in the example of the crate's documentation, on databases that compare texts differently.

use crate::fence::tools::{mariadb, postgres, sqlite};

/// Marks the row, reads it, and writes if the mark is unchanged.
macro_rules! mark {
    ($pool:expr, $column:literal, $mark:literal, $set:literal) => {
        let pool = $pool;
        sqlx::raw_sql($column).execute(&pool).await.unwrap();
        let mark = async |owner: &str| {
            sqlx::query($mark)
                .bind(owner.as_bytes())
                .execute(&pool)
                .await
                .unwrap();
        };
        let set = async |amount: i64, owner: &str| {
            let write = sqlx::query($set).bind(amount).bind(owner.as_bytes());
            write.execute(&pool).await.unwrap().rows_affected()
        };
        mark("a").await;
        assert_eq!(set(11, "a").await, 1);
        mark("b").await;
        assert_eq!(set(12, "a").await, 0, "b has come between");
        assert_eq!(set(13, "B").await, 0, "another owner");
        assert_eq!(set(13, "b").await, 1);
        // This is the limit of a mark: it detects a change in between, but not which holder is newer.
        mark("a").await;
        assert_eq!(
            set(14, "a").await,
            1,
            "the older one, late: atomic and out of order"
        );
        assert_eq!(set(15, "b").await, 0, "the newer one is refused");
    };
}

#[tokio::test]
async fn write_conditional_on_an_owner_column_detects_changes_but_not_order() {
    mark!(
        sqlite().await,
        "ALTER TABLE items ADD COLUMN mark BLOB",
        "UPDATE items SET mark = ? WHERE id = 1",
        "UPDATE items SET amount = ? WHERE id = 1 AND mark = ?"
    );
    let (_server, pool) = postgres().await;
    mark!(
        pool,
        "ALTER TABLE items ADD COLUMN mark BYTEA",
        "UPDATE items SET mark = $1 WHERE id = 1",
        "UPDATE items SET amount = $1 WHERE id = 1 AND mark = $2"
    );
    let (_server, pool) = mariadb().await;
    mark!(
        pool,
        "ALTER TABLE items ADD COLUMN mark VARBINARY(64)",
        "UPDATE items SET mark = ? WHERE id = 1",
        "UPDATE items SET amount = ? WHERE id = 1 AND mark = ?"
    );
}
