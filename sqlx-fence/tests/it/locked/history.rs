//! Random histories: clients with short leases read, change and write a counter under a lock that they often lose.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_sqlx::{Error, Isolation, LockedTransaction};
use leasehold_testkit::depth;
use tokio::time::sleep;

use crate::locked::tools::{
    LEVELS, expire, item, manager, mariadb, number, postgres, seen, sqlite,
};

const CLIENTS: usize = 4;
/// The number of attempts of each client in `cargo test`.
const ATTEMPTS: u64 = 6;
const TTL: Duration = Duration::from_millis(150);

/// Pauses up to twice the TTL, or for a much shorter time.
async fn pause() {
    let longest = if fastrand::u8(..4) == 0 {
        TTL * 2
    } else {
        TTL / 5
    };
    sleep(longest.mul_f64(fastrand::f64())).await;
}

fn lock(locks: &LockManager, key: &str) -> leasehold::Lock {
    let lock = locks.lock(key).ttl(TTL);
    if fastrand::bool() {
        lock.without_renewal()
    } else {
        lock
    }
}

/// Defines `history`, which returns the number of lost updates. A control uses a plain transaction under the same lock.
macro_rules! histories {
    ($Pool:ty) => {
        /// Adds one to the counter, and returns whether the transaction was committed.
        async fn add(
            pool: &$Pool,
            locks: &LockManager,
            level: Isolation,
            key: &str,
            is_control: bool,
        ) -> bool {
            let Ok(guard) = lock(locks, key).acquire().await else {
                return false;
            };
            // The lock protects reads before the transaction, too.
            let read = || format!("SELECT amount FROM items WHERE id = '{key}'");
            let early = fastrand::bool() || is_control;
            let mut amount = 0;
            if early {
                amount = number!(pool, "{}", read());
                pause().await;
            }
            macro_rules! write {
                ($tx:ident) => {{
                    if !early {
                        amount = number!(&mut *$tx, "{}", read());
                        pause().await;
                    }
                    let write = format!(
                        "UPDATE items SET amount = {} WHERE id = '{key}'",
                        amount + 1
                    );
                    let written = sqlx::raw_sql(crate::locked::tools::sql(write))
                        .execute(&mut *$tx)
                        .await;
                    pause().await;
                    match written {
                        Ok(_) => $tx.commit().await.map_err(Error::from),
                        Err(error) => Err(error.into()),
                    }
                }};
            }
            let done = if is_control {
                let mut tx = pool.begin().await.unwrap();
                write!(tx)
            } else {
                match LockedTransaction::begin(pool, &guard)
                    .isolation(level)
                    .await
                {
                    Ok(mut tx) => write!(tx),
                    Err(error) => Err(error),
                }
            };
            drop(guard);
            match done {
                Ok(()) => true,
                // A conflict, or a write lock of `SQLite` that another client held for too long.
                Err(Error::Lost(_) | Error::Sqlx(_)) => false,
                Err(error) => panic!("{level:?}: {error}"),
            }
        }

        async fn history(pool: &$Pool, level: Isolation, is_control: bool) -> i64 {
            let key = format!("history {level:?} {is_control} {}", fastrand::u64(..));
            item!(pool, key);
            // Ends leases by the database's clock, as if the machine of the holder was suspended.
            let (at, expired) = (pool.clone(), key.clone());
            let suspends = tokio::spawn(async move {
                loop {
                    sleep((TTL * 2).mul_f64(fastrand::f64())).await;
                    expire!(&at, expired);
                }
            });
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let (pool, locks, key) = (pool.clone(), manager(pool), key.clone());
                    tokio::spawn(async move {
                        let mut committed = 0;
                        let attempts = depth::scaled(ATTEMPTS);
                        let mut attempted = 0;
                        // On a busy machine, it takes more attempts until one is in time.
                        while attempted < attempts || (committed == 0 && attempted < attempts * 100)
                        {
                            attempted += 1;
                            committed +=
                                i64::from(add(&pool, &locks, level, &key, is_control).await);
                        }
                        committed
                    })
                })
                .collect();
            let mut committed = 0;
            for client in clients {
                committed += client.await.unwrap();
            }
            suspends.abort();
            let (amount, changes) = seen!(pool, key);
            assert_eq!(changes, committed, "a refused transaction was written");
            let lost = committed - (amount - 10);
            println!("{level:?}, control {is_control}: {committed} committed, {lost} lost");
            assert!(committed > 0, "no transaction commits");
            lost
        }
    };
}

mod on_postgres {
    use super::*;

    histories!(sqlx::PgPool);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn locked_transactions_lose_no_update_and_plain_ones_lose_some() {
        let pool = postgres().await;
        for level in LEVELS {
            assert_eq!(history(&pool, level, false).await, 0);
        }
        while history(&pool, Isolation::ReadCommitted, true).await == 0 {}
    }
}

mod on_mariadb {
    use super::*;

    histories!(sqlx::MySqlPool);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn locked_transactions_lose_no_update_and_plain_ones_lose_some() {
        let pool = mariadb().await;
        for level in LEVELS {
            assert_eq!(history(&pool, level, false).await, 0);
        }
        while history(&pool, Isolation::RepeatableRead, true).await == 0 {}
    }
}

mod on_sqlite {
    use super::*;

    histories!(sqlx::SqlitePool);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn locked_transactions_lose_no_update_and_plain_ones_lose_some() {
        let (_folder, pool) = sqlite().await;
        assert_eq!(history(&pool, Isolation::Serializable, false).await, 0);
        while history(&pool, Isolation::Serializable, true).await == 0 {}
    }
}
