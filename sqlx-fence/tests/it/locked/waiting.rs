//! `commit` waits for a concurrent acquire of the lock, and an acquire waits for `commit`.

use leasehold::EndReason;
use leasehold_sqlx::LockedTransaction;
use tokio::time::{sleep, timeout};

use crate::locked::tools::{
    LEVELS, SHORT, SOON, acquired, is_lost, item, manager, mariadb, postgres, run, seen, sqlite,
};

/// B has executed its acquire and has not committed it yet, while A commits. A waits for B.
macro_rules! acquires_first {
    ($pool:expr, $begin:literal, $level:expr, $commits:literal) => {{
        let (pool, level) = ($pool, $level);
        let key = format!("first {level:?} {}", $commits);
        item!(&pool, key);
        let guard = acquired(&manager(&pool), &key).await;
        let begin = LockedTransaction::begin(&pool, &guard).isolation(level);
        let mut tx = begin.await.unwrap();
        run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = '{key}'");
        // An acquire is one statement. At the level serializable, which may be the server's default, this transaction
        // could fail at its own commit.
        let mut acquiring = pool.begin_with($begin).await.unwrap();
        run!(
            &mut *acquiring,
            "UPDATE leasehold_locks SET version = version + 1, token = token + 1, owner = NULL WHERE lock_key = '{key}'"
        );
        let commit = tokio::spawn(tx.commit());
        sleep(SHORT).await;
        assert!(!commit.is_finished(), "{level:?}: it does not wait");
        match $commits {
            true => acquiring.commit().await.unwrap(),
            false => acquiring.rollback().await.unwrap(),
        }
        let committed = timeout(SOON, commit).await.unwrap().unwrap();
        if $commits {
            is_lost(&committed, EndReason::Gone);
            assert_eq!(seen!(&pool, key), (10, 0));
        } else {
            committed.unwrap();
            assert_eq!(seen!(&pool, key), (11, 1));
        }
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_commit_waits_for_an_acquire_in_progress() {
    for level in LEVELS {
        acquires_first!(
            postgres().await,
            "BEGIN ISOLATION LEVEL READ COMMITTED",
            level,
            true
        );
        acquires_first!(
            postgres().await,
            "BEGIN ISOLATION LEVEL READ COMMITTED",
            level,
            false
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_commit_waits_for_an_acquire_in_progress() {
    for level in LEVELS {
        acquires_first!(mariadb().await, "BEGIN", level, true);
        acquires_first!(mariadb().await, "BEGIN", level, false);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_an_acquire_waits_for_the_end_of_the_transaction() {
    let (_folder, pool) = sqlite().await;
    item!(&pool, "one writer");
    let ttl = SHORT * 15;
    let lock = manager(&pool).lock("one writer").ttl(ttl).without_renewal();
    let guard = lock.acquire().await.unwrap();
    let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
    run!(
        &mut *tx,
        "UPDATE items SET amount = 11 WHERE id = 'one writer'"
    );
    let next = tokio::spawn({
        let locks = manager(&pool);
        async move { acquired(&locks, "one writer").await }
    });
    sleep(ttl + SHORT).await;
    assert!(!next.is_finished());
    is_lost(&tx.commit().await, EndReason::Expired);
    let next = timeout(SOON, next).await.unwrap().unwrap();
    assert_eq!(seen!(&pool, "one writer"), (10, 0));
    next.release().await.unwrap();
}
