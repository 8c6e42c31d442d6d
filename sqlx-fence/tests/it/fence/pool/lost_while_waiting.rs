//! Locks that are lost while a call waits for a connection.

use std::pin::pin;

use futures_util::FutureExt;
use leasehold_sqlx::{Error, FencedPool};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;

use super::holder;
use crate::fence::tools::{mariadb, postgres, sqlite};

/// Begins a call while the only connection is in use, and then loses the lock. The call must not write.
macro_rules! lost_while_waiting {
    ($plain:expr, $set:literal) => {
        let plain = $plain;
        let pool = FencedPool::new(plain.clone());
        for (number, begins) in [(1, false), (2, true)] {
            let guard = holder("items", number).await;
            let call = async {
                match begins {
                    false => sqlx::query($set)
                        .bind(0_i64)
                        .execute(&pool)
                        .await
                        .map(drop)?,
                    true => pool.begin().await?.commit().await?,
                }
                Ok::<_, Error>(())
            };
            let mut call = pin!(guard.handle().scope(call));
            let busy = plain.acquire().await.unwrap();
            let early = (&mut call).now_or_never();
            assert!(early.is_none(), "it must wait: {early:?}");
            guard.simulate_loss();
            drop(busy);
            let lost = call.await;
            assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");
            let row = "SELECT amount, fencing_token FROM items WHERE id = 1";
            let row: (i64, i64) = sqlx::query_as(row).fetch_one(&plain).await.unwrap();
            assert_eq!(row, (10, 0));
            let claims = "SELECT COUNT(*) FROM leasehold_fences";
            let claims: i64 = sqlx::query_scalar(claims).fetch_one(&plain).await.unwrap();
            assert_eq!(claims, 0);
        }
    };
}

#[tokio::test]
async fn on_sqlite_call_that_lost_its_lock_while_waiting_for_a_connection_fails() {
    lost_while_waiting!(sqlite().await, "UPDATE items SET amount = ? WHERE id = 1");
}

#[tokio::test]
async fn on_postgres_call_that_lost_its_lock_while_waiting_for_a_connection_fails() {
    let (server, _pool) = postgres().await;
    let only_one = PgPoolOptions::new().max_connections(1);
    let pool = only_one.connect(&server.url()).await.unwrap();
    lost_while_waiting!(pool, "UPDATE items SET amount = $1 WHERE id = 1");
}

#[tokio::test]
async fn on_mariadb_call_that_lost_its_lock_while_waiting_for_a_connection_fails() {
    let (server, _pool) = mariadb().await;
    let only_one = MySqlPoolOptions::new().max_connections(1);
    let pool = only_one.connect(&server.url()).await.unwrap();
    lost_while_waiting!(pool, "UPDATE items SET amount = ? WHERE id = 1");
}
