//! The macros of sqlx, which check statements when they are compiled.

use leasehold_sqlx::{Error, FencedPool};

use super::held;
use crate::fence::tools::{mariadb, postgres, sqlite};

/// The same on each database.
macro_rules! macros {
    ($pool:expr, $set:literal) => {
        let set = |amount: i64| sqlx::query!($set, amount, 1_i64);
        let done = held(5, set(5).execute(&$pool)).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
        let late = held(4, set(4).execute(&$pool)).await.map_err(Error::from);
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
    };
}

/// `query!`, `query_as!` and `query_scalar!` with `RETURNING`, which make the type `Map` of sqlx.
macro_rules! returning {
    ($pool:expr, $set:literal, $scalar:literal) => {
        let set = |amount: i64| sqlx::query!($set, amount, 1_i64);
        let row = held(6, set(6).fetch_one(&$pool)).await.unwrap();
        assert_eq!((row.id, row.amount), (1, 6));
        let typed = sqlx::query_as!(Item, $set, 7_i64, 1_i64);
        let row = held(6, typed.fetch_optional(&$pool))
            .await
            .unwrap()
            .unwrap();
        assert_eq!((row.id, row.amount), (1, 7));
        let mapped = set(8).map(|row| row.amount + 1);
        assert_eq!(held(6, mapped.fetch_all(&$pool)).await.unwrap(), [9]);
        let scalar = sqlx::query_scalar!($scalar, 9_i64, 1_i64);
        assert_eq!(held(6, scalar.fetch_one(&$pool)).await.unwrap(), 9);
        let late = held(5, set(4).fetch_optional(&$pool)).await;
        let late = late.map(|_| ()).map_err(Error::from);
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
    };
}

struct Item {
    id: i64,
    amount: i64,
}

#[tokio::test]
async fn on_sqlite_queries_of_sqlx_macros_are_fenced() {
    let pool = FencedPool::new(sqlite().await);
    macros!(pool, "UPDATE items SET amount = ? WHERE id = ?");
    returning!(
        pool,
        "UPDATE items SET amount = ? WHERE id = ? RETURNING id, amount",
        "UPDATE items SET amount = ? WHERE id = ? RETURNING amount"
    );
}

#[tokio::test]
async fn on_postgres_queries_of_sqlx_macros_are_fenced() {
    let (_server, pool) = postgres().await;
    let pool = FencedPool::new(pool);
    macros!(pool, "UPDATE items SET amount = $1 WHERE id = $2");
    returning!(
        pool,
        "UPDATE items SET amount = $1 WHERE id = $2 RETURNING id, amount",
        "UPDATE items SET amount = $1 WHERE id = $2 RETURNING amount"
    );
}

#[tokio::test]
async fn on_mariadb_queries_of_sqlx_macros_are_fenced() {
    let (_server, pool) = mariadb().await;
    let pool = FencedPool::new(pool);
    macros!(pool, "UPDATE `items` SET amount = ? WHERE id = ?");
}
