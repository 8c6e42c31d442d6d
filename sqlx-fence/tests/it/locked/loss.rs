//! A holder that has lost its lock without knowing it writes nothing.

use leasehold::EndReason;
use leasehold_sqlx::{Isolation, LockedTransaction};
use tokio::time::timeout;

use crate::locked::tools::{
    LEVELS, SOON, acquired, expire, is_lost, item, manager, mariadb, postgres, run, seen, sqlite,
};

/// A loses its lock before it begins (`$early`) or during its transaction. B acquires the lock and writes. A's commit
/// is then refused. The database does not have A's writes, or those of the trigger.
macro_rules! suspended {
    ($pool:expr, $level:expr, $early:expr) => {{
        let (pool, level, early): (_, Isolation, bool) = ($pool, $level, $early);
        let (a, b) = (manager(&pool), manager(&pool));
        let key = format!("suspended {level:?} {early}");
        let other = format!("other {key}");
        item!(&pool, key);
        item!(&pool, other);
        let guard = acquired(&a, &key).await;
        let takes_over = async || {
            expire!(&pool, key);
            let guard = timeout(SOON, acquired(&b, &key)).await.unwrap();
            let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
            run!(&mut *tx, "UPDATE items SET amount = 20 WHERE id = '{key}'");
            tx.commit().await.unwrap();
            guard
        };
        let mut next = None;
        if early {
            next = Some(takes_over().await);
        }
        let begin = LockedTransaction::begin(&pool, &guard).isolation(level);
        let mut tx = begin.await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 11 WHERE id = '{other}'"
        );
        run!(&mut *tx, "INSERT INTO items VALUES ('new {key}', 1)");
        if !early {
            next = Some(takes_over().await);
        }
        is_lost(&tx.commit().await, EndReason::Gone);
        assert_eq!(seen!(&pool, key), (20, 1));
        assert_eq!(seen!(&pool, other), (10, 0));
        let new = crate::locked::tools::number!(
            &pool,
            "SELECT COUNT(*) FROM items WHERE id = 'new {key}'"
        );
        assert_eq!(new, 0);
        // The guard of B is not disturbed.
        next.unwrap().release().await.unwrap();
    }};
}

#[tokio::test]
async fn on_postgres_a_suspended_holder_writes_nothing() {
    for level in LEVELS {
        suspended!(postgres().await, level, true);
        suspended!(postgres().await, level, false);
    }
}

#[tokio::test]
async fn on_mariadb_a_suspended_holder_writes_nothing() {
    for level in LEVELS {
        suspended!(mariadb().await, level, true);
        suspended!(mariadb().await, level, false);
    }
}

#[tokio::test]
async fn on_sqlite_a_suspended_holder_writes_nothing() {
    let (_folder, pool) = sqlite().await;
    suspended!(pool, Isolation::Serializable, true);
}

/// Loses a lock in `$lose` and returns the reason that `commit` reports.
macro_rules! loses {
    ($pool:expr, $name:literal, $reason:expr, |$pool_:ident, $locks:ident, $key:ident| $lose:expr) => {{
        let $pool_ = $pool;
        let $locks = manager(&$pool_);
        let $key = $name;
        item!(&$pool_, $key);
        let guard = acquired(&manager(&$pool_), $key).await;
        $lose;
        let mut tx = LockedTransaction::begin(&$pool_, &guard).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 11 WHERE id = '{}'",
            $key
        );
        is_lost(&tx.commit().await, $reason);
        assert_eq!(seen!(&$pool_, $key), (10, 0));
    }};
}

/// Checks each way in which the database can know of a loss before the holder.
macro_rules! losses {
    ($pool:expr) => {
        loses!(
            $pool.clone(),
            "expired",
            EndReason::Expired,
            |pool, _locks, key| expire!(&pool, key)
        );
        loses!(
            $pool.clone(),
            "forced",
            EndReason::Gone,
            |_pool, locks, key| {
                assert!(locks.force_release(key).await.unwrap());
            }
        );
        loses!(
            $pool.clone(),
            "forced and acquired",
            EndReason::Gone,
            |_pool, locks, key| {
                assert!(locks.force_release(key).await.unwrap());
                std::mem::forget(acquired(&locks, key).await);
            }
        );
        // The clock of the database is set back, so the lease of the previous holder would still be valid.
        loses!(
            $pool.clone(),
            "acquired, clock set back",
            EndReason::Gone,
            |pool, locks, key| {
                expire!(&pool, key);
                std::mem::forget(acquired(&locks, key).await);
                run!(
                    &pool,
                    "UPDATE leasehold_locks SET expires_at = {} WHERE lock_key = '{key}'",
                    i64::MAX
                );
            }
        );
    };
}

#[tokio::test]
async fn on_postgres_each_loss_that_only_the_database_knows_is_returned() {
    losses!(postgres().await);
}

#[tokio::test]
async fn on_mariadb_each_loss_that_only_the_database_knows_is_returned() {
    losses!(mariadb().await);
}

#[tokio::test]
async fn on_sqlite_each_loss_that_only_the_database_knows_is_returned() {
    let (_folder, pool) = sqlite().await;
    losses!(pool);
}

/// A holder that is paused for longer than its lease.
macro_rules! paused {
    ($pool:expr) => {{
        let pool = $pool;
        item!(&pool, "paused");
        let ttl = std::time::Duration::from_secs(3);
        let lock = manager(&pool).lock("paused").ttl(ttl).without_renewal();
        let guard = lock.acquire().await.unwrap();
        let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
        run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = 'paused'");
        tokio::time::sleep(ttl + crate::locked::tools::SHORT).await;
        is_lost(&tx.commit().await, EndReason::Expired);
        let begin = LockedTransaction::begin(&pool, &guard).await;
        is_lost(&begin, EndReason::Expired);
        assert_eq!(seen!(&pool, "paused"), (10, 0));
    }};
}

#[tokio::test]
async fn a_paused_holder_writes_nothing() {
    paused!(postgres().await);
    paused!(mariadb().await);
    let (_folder, sqlite) = sqlite().await;
    paused!(sqlite);
}

/// A has lost its lock, and its transaction is still open. B reads at read uncommitted, and does not see A's write.
#[tokio::test]
async fn on_mariadb_the_next_holder_does_not_read_writes_that_are_refused_later() {
    let pool = mariadb().await;
    item!(&pool, "dirty");
    let guard = acquired(&manager(&pool), "dirty").await;
    let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
    run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = 'dirty'");
    expire!(&pool, "dirty");
    let next = acquired(&manager(&pool), "dirty").await;
    let begin = LockedTransaction::begin(&pool, &next);
    let mut late = begin.isolation(Isolation::ReadUncommitted).await.unwrap();
    assert_eq!(seen!(&mut *late, "dirty"), (10, 0));
    is_lost(&tx.commit().await, EndReason::Gone);
    late.commit().await.unwrap();
}
