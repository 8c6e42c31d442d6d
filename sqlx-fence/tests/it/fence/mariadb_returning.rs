//! On `MariaDB`, the result of a statement with `RETURNING` contains rows, but not the number of written rows.

use leasehold_sqlx::Error;

use crate::fence::tools::{fence, mariadb};

#[tokio::test]
async fn on_mariadb_execute_of_a_statement_with_returning_is_refused() {
    let (_server, pool) = mariadb().await;
    let delete = |number| {
        let query = fence(number).query("DELETE FROM items WHERE id <= ? RETURNING id");
        query.bind(2)
    };
    for refused in [
        delete(5).execute(&pool).await,
        delete(5).expect_rows(2).execute(&pool).await,
    ] {
        let Err(Error::Rewrite { remedy, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert!(remedy.contains("fetch_all"), "{remedy}");
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM items")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, 4, "nothing was sent");

    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 1");
    newer.execute(&pool).await.unwrap();
    assert_eq!(delete(5).fetch_all(&pool).await.unwrap().len(), 1);
    let stale = delete(5).fetch_all(&pool).await.err();
    assert!(matches!(stale, Some(Error::Stale(_))), "{stale:?}");
}
