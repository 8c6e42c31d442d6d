//! Statements that sqlx has built.

use leasehold_sqlx::{Error, FencedExt};
use sqlx::{Postgres, QueryBuilder, Sqlite};

use crate::fence::tools::{fence, postgres, sqlite};

#[tokio::test]
async fn on_sqlite_statements_built_by_sqlx_are_fenced() {
    let pool = sqlite().await;
    let write = |amount: i64| {
        sqlx::query("UPDATE items SET amount = ? WHERE id = ?")
            .bind(amount)
            .bind(1)
    };
    write(5).fenced(&fence(5)).execute(&pool).await.unwrap();
    let stale = write(4).fenced(&fence(4)).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");

    let mut builder = QueryBuilder::<Sqlite>::new("UPDATE items SET amount = ");
    builder.push_bind(6).push(" WHERE id IN (");
    builder.separated(", ").push_bind(1).push_bind(2);
    let done = builder
        .push(")")
        .fenced(&fence(6))
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(done.rows_affected(), 2);

    let checked =
        |amount: i64| sqlx::query!("UPDATE items SET amount = ? WHERE id = ?", amount, 1_i64);
    checked(7).fenced(&fence(7)).execute(&pool).await.unwrap();
    let stale = checked(6).fenced(&fence(6)).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");

    let read = sqlx::query_scalar("SELECT amount FROM items ORDER BY id");
    let amounts: Vec<i64> = read.fetch_all(&pool).await.unwrap();
    assert_eq!(amounts, [7, 6, 30, 40]);

    let few = sqlx::query("UPDATE items SET amount = ? WHERE id = ?").bind(1);
    let few = few.fenced(&fence(9)).execute(&pool).await;
    assert!(
        matches!(
            few,
            Err(Error::Binds {
                expected: 2,
                given: 1
            })
        ),
        "{few:?}"
    );
    let none = sqlx::query::<Sqlite>("UPDATE items SET amount = 1").fenced(&fence(9));
    assert_eq!(none.execute(&pool).await.unwrap().rows_affected(), 4);
}

#[tokio::test]
async fn on_postgres_statements_built_by_sqlx_are_fenced() {
    let (_server, pool) = postgres().await;
    let write = |amount: i64| {
        sqlx::query("UPDATE items SET amount = $1 WHERE id = $2")
            .bind(amount)
            .bind(1_i64)
    };
    write(5).fenced(&fence(5)).execute(&pool).await.unwrap();
    let stale = write(4).fenced(&fence(4)).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");

    let mut builder = QueryBuilder::<Postgres>::new("UPDATE items SET amount = ");
    builder.push_bind(6_i64).push(" WHERE id IN (");
    builder.separated(", ").push_bind(1_i64).push_bind(2_i64);
    let done = builder
        .push(")")
        .fenced(&fence(6))
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(done.rows_affected(), 2);

    let checked =
        |amount: i64| sqlx::query!("UPDATE items SET amount = $1 WHERE id = $2", amount, 1_i64);
    checked(7).fenced(&fence(7)).execute(&pool).await.unwrap();
    let stale = checked(6).fenced(&fence(6)).execute(&pool).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
}
