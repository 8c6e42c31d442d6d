//! `LIMIT` on `MariaDB`, with and without `ORDER BY`. With an order, the next row does not replace a newer one.

use leasehold_sqlx::Error;

use crate::fence::tools::{fence, mariadb};

#[tokio::test]
async fn on_mariadb_limit_with_order_by_does_not_skip_a_newer_row() {
    let (_server, pool) = mariadb().await;
    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 1");
    newer.execute(&pool).await.unwrap();
    let ids = async || -> Vec<i64> {
        let read = sqlx::query_scalar("SELECT id FROM items ORDER BY id");
        read.fetch_all(&pool).await.unwrap()
    };

    for sql in [
        "DELETE FROM items WHERE amount < 99 ORDER BY id LIMIT 1",
        "UPDATE items SET id = 5 ORDER BY id LIMIT 1",
    ] {
        let refused = fence(5).query(sql).execute(&pool).await;
        let Err(Error::Rewrite { remedy, .. }) = refused else {
            panic!("{sql}: {refused:?}")
        };
        assert!(remedy.contains("AS chosen"), "{remedy}");
    }
    assert_eq!(ids().await, [1, 2, 3, 4]);

    let chosen = "DELETE FROM items WHERE id IN \
         (SELECT id FROM (SELECT id FROM items ORDER BY id LIMIT 1) AS chosen)";
    let stale = fence(5).query(chosen).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
    assert_eq!(ids().await, [1, 2, 3, 4]);
    let done = fence(9).query(chosen).execute(&pool).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
    assert_eq!(ids().await, [2, 3, 4]);
}

#[tokio::test]
async fn on_mariadb_limit_without_order_by_skips_newer_rows() {
    let (_server, pool) = mariadb().await;
    let newer = fence(9).query("UPDATE items SET amount = 9 WHERE id = 1");
    newer.execute(&pool).await.unwrap();
    let any = "DELETE FROM items LIMIT 1";
    for _ in 0..3 {
        let done = fence(5).query(any).execute(&pool).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
    }
    let stale = fence(5).query(any).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
}
