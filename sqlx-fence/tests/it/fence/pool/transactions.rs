//! Transactions of fenced pools.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_sqlx::{Error, Fence, FencedPool, Isolation};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{Executor, SqlitePool};

use super::{held, holder, number};
use crate::fence::tools::{mariadb, postgres};

/// The same on each database.
macro_rules! transactions {
    ($plain:expr, $set:literal, $add:literal, $lock:literal) => {
        let plain = $plain;
        let pool = FencedPool::new(plain.clone());
        let read = "SELECT amount, fencing_token FROM items WHERE id = 1";
        let read = async || -> (i64, usize) {
            let (amount, token): (i64, i64) = sqlx::query_as(read).fetch_one(&plain).await.unwrap();
            (amount, number(token))
        };
        let set = |amount: i64| sqlx::query($set).bind(amount);

        // It claims the key of the lock, and writes the tokens of the rows.
        held(5, async {
            let mut tx = pool
                .begin()
                .isolation(Isolation::ReadCommitted)
                .await
                .unwrap();
            let amount: i64 = sqlx::query_scalar($lock).fetch_one(&mut *tx).await.unwrap();
            assert_eq!(amount, 10);
            assert_eq!(set(11).execute(&mut *tx).await.unwrap().rows_affected(), 1);
            sqlx::query($add)
                .bind(9_i64)
                .execute(&mut *tx)
                .await
                .unwrap();
            assert_eq!(
                (tx.lock().key(), number(tx.lock().token().get())),
                ("items", 5)
            );
            tx.commit().await.unwrap();
        })
        .await;
        assert_eq!(read().await, (11, 5));
        let added: i64 = sqlx::query_scalar("SELECT fencing_token FROM items WHERE id = 9")
            .fetch_one(&plain)
            .await
            .unwrap();
        assert_eq!(number(added), 5);

        // A late holder neither begins nor writes. The explicit way has the same claim.
        let late = held(4, async { pool.begin().await }).await;
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
        let late = held(4, set(0).execute(&pool)).await.map_err(Error::from);
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
        let four = Fence::new(holder("items", 4).await.token());
        let late = four.begin(&plain, "items").await;
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");

        // A single statement of a newer holder refuses the write of an open transaction.
        held(6, set(12).execute(&pool)).await.unwrap();
        held(5, async {
            let mut tx = pool.begin().await.unwrap();
            let late = set(0).execute(&mut *tx).await.map_err(Error::from);
            assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");
            tx.rollback().await.unwrap();
        })
        .await;
        assert_eq!(read().await, (12, 6));

        // What is rolled back is not there.
        held(7, async {
            let mut tx = pool.begin().await.unwrap();
            set(0).execute(&mut *tx).await.unwrap();
            tx.rollback().await.unwrap();
        })
        .await;
        assert_eq!(read().await, (12, 6));

        // Another transaction waits for the claim.
        held(8, async {
            let open = pool.begin().await.unwrap();
            let busy = pool.begin().lock_timeout(Duration::from_millis(50)).await;
            assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
            open.rollback().await.unwrap();
        })
        .await;

        // A transaction takes its lock with it, until the lock is lost.
        let guard = holder("items", 9).await;
        let mut tx = guard
            .handle()
            .scope(async { pool.begin().await })
            .await
            .unwrap();
        let tx = tokio::spawn(async move {
            set(13).execute(&mut *tx).await.unwrap();
            tx
        });
        let mut tx = tx.await.unwrap();
        guard.simulate_loss();
        let lost = set(0).execute(&mut *tx).await.map_err(Error::from);
        assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");
        tx.commit().await.unwrap();
        assert_eq!(read().await, (13, 9));

        // What is refused in a pool is refused here, too.
        held(10, async {
            let mut tx = pool.begin().await.unwrap();
            for refused in [
                "DROP TABLE items",
                "COMMIT",
                "UPDATE items SET fencing_token = 0",
            ] {
                let refused = tx.execute(refused).await.map_err(Error::from);
                assert!(matches!(refused, Err(Error::Rewrite { .. })), "{refused:?}");
            }
            set(14).execute(&mut *tx).await.unwrap();
            tx.commit().await.unwrap();
        })
        .await;
        assert_eq!(read().await, (14, 10));

        // Locks that were acquired together.
        let set_of_locks = LockManager::in_process()
            .lock_all(["a", "b"])
            .acquire()
            .await
            .unwrap();
        set_of_locks
            .run(async |_| {
                let several = pool.begin().await;
                assert!(matches!(
                    several,
                    Err(Error::Lock(leasehold::Error::NoCurrentLock(_)))
                ));
                let tx = pool.begin().key("b").await?;
                assert_eq!(tx.lock().key(), "b");
                tx.rollback().await
            })
            .await
            .unwrap();
    };
}

#[tokio::test]
async fn on_sqlite_pool_transaction_claims_the_key_and_refuses_late_holders() {
    let dir = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(dir.path().join("begin.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let items = "CREATE TABLE items (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO items VALUES (1, 10)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    leasehold_sqlx::ddl::add_column(&pool, "items")
        .await
        .unwrap();
    leasehold_sqlx::ddl::create_fences(&pool).await.unwrap();
    transactions!(
        pool,
        "UPDATE items SET amount = ? WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES (?, 1)",
        "SELECT amount FROM items WHERE id = 1"
    );
}

#[tokio::test]
async fn on_postgres_pool_transaction_claims_the_key_and_refuses_late_holders() {
    let (_server, pool) = postgres().await;
    transactions!(
        pool,
        "UPDATE items SET amount = $1 WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES ($1, 1)",
        "SELECT amount FROM items WHERE id = 1 FOR UPDATE"
    );
}

#[tokio::test]
async fn on_mariadb_pool_transaction_claims_the_key_and_refuses_late_holders() {
    let (_server, pool) = mariadb().await;
    transactions!(
        pool,
        "UPDATE items SET amount = ? WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES (?, 1)",
        "SELECT amount FROM items WHERE id = 1 LOCK IN SHARE MODE"
    );
}
