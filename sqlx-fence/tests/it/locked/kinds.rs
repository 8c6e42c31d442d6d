//! The kinds of lock, locks of other backends, and losses that the holder knows.

use leasehold::backend::InProcess;
use leasehold::{EndReason, LockManager, ReentrancyScope, current_lock};
use leasehold_sqlx::{Error, IdempotencyRecord, LockedTransaction, SqlIdempotencyStore, ddl};

use crate::locked::tools::{
    acquired, is_lost, item, manager, mariadb, postgres, run, seen, sqlite,
};

#[tokio::test]
async fn exclusive_locks_of_every_kind_commit_and_a_shared_lock_is_refused() {
    let (_folder, pool) = sqlite().await;
    item!(&pool, "kinds");
    let locks = manager(&pool);
    macro_rules! commits {
        ($lock:expr) => {
            let mut tx = LockedTransaction::begin(&pool, $lock).await.unwrap();
            run!(
                &mut *tx,
                "UPDATE items SET amount = amount + 1 WHERE id = 'kinds'"
            );
            tx.commit().await.unwrap();
        };
    }
    let mutex = acquired(&locks, "kinds").await;
    commits!(&mutex);
    commits!(&mutex.handle());
    let within = mutex.run(async |_| {
        commits!(current_lock()?);
        Ok::<_, Error>(())
    });
    within.await.unwrap();
    mutex.release().await.unwrap();
    let write = locks.rw_lock("kinds").write().acquire().await.unwrap();
    commits!(&write);
    let read = write.downgrade().await.unwrap();
    let shared = LockedTransaction::begin(&pool, &read).await;
    assert!(
        matches!(&shared, Err(Error::NotExclusive { key }) if key == "kinds"),
        "{shared:?}"
    );
    read.release().await.unwrap();
    let scope = ReentrancyScope::new();
    let outer = locks
        .lock("kinds")
        .reentrant(&scope)
        .acquire()
        .await
        .unwrap();
    let inner = locks
        .lock("kinds")
        .reentrant(&scope)
        .acquire()
        .await
        .unwrap();
    commits!(&outer);
    commits!(&inner);
    assert_eq!(seen!(&pool, "kinds"), (16, 6));
}

#[tokio::test]
async fn a_key_with_special_characters_and_a_prefix_commits() {
    macro_rules! commits {
        ($pool:expr) => {
            let pool = $pool;
            let backend = leasehold_sqlx::SqlBackend::new(pool.clone());
            let locks = LockManager::builder()
                .prefix("é'\\:")
                .build(backend)
                .unwrap();
            for key in ["'); DROP TABLE items; --", "\\x41\"`", "日本", "%s{1}"] {
                let guard = acquired(&locks, key).await;
                let tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
                tx.commit().await.unwrap();
            }
        };
    }
    commits!(postgres().await);
    commits!(mariadb().await);
    let (_folder, sqlite) = sqlite().await;
    commits!(sqlite);
}

/// The lock of another backend is refused, whether or not the database stores locks.
macro_rules! elsewhere {
    ($pool:expr, $rename:literal) => {{
        let pool = $pool;
        item!(&pool, "elsewhere");
        let in_process = LockManager::builder().prefix("").build(InProcess::new());
        let guard = acquired(&in_process.unwrap(), "elsewhere").await;
        let refused = async || {
            let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
            run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = 'elsewhere'");
            let commit = tx.commit().await;
            assert!(
                matches!(&commit, Err(Error::NotInDatabase { key }) if key == "elsewhere"),
                "{commit:?}"
            );
            assert_eq!(seen!(&pool, "elsewhere"), (10, 0));
        };
        refused().await;
        // The database has a lock of the same name.
        let same = acquired(&manager(&pool), "elsewhere").await;
        let tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
        is_lost(&tx.commit().await, EndReason::Gone);
        same.release().await.unwrap();
        run!(&pool, $rename);
        refused().await;
    }};
}

#[tokio::test]
async fn a_lock_that_is_not_in_the_database_is_refused() {
    let postgres = {
        let pool = postgres().await;
        run!(&pool, "CREATE SCHEMA elsewhere");
        let options = (*pool.connect_options()).clone();
        let options = options.options([("search_path", "elsewhere")]);
        let pool = sqlx::PgPool::connect_with(options).await.unwrap();
        run!(
            &pool,
            "CREATE TABLE items (LIKE public.items); CREATE TABLE audit (LIKE public.audit)"
        );
        // `create_locks` refuses a second table.
        run!(&pool, "{}", ddl::POSTGRES_LOCKS);
        pool
    };
    elsewhere!(postgres, "DROP TABLE leasehold_locks");
    let mariadb = {
        let pool = mariadb().await;
        run!(&pool, "CREATE DATABASE elsewhere");
        let options = (*pool.connect_options()).clone().database("elsewhere");
        let pool = sqlx::MySqlPool::connect_with(options).await.unwrap();
        run!(
            &pool,
            "CREATE TABLE items (id VARCHAR(99), amount BIGINT); CREATE TABLE audit (id VARCHAR(99))"
        );
        ddl::create_locks(&pool).await.unwrap();
        pool
    };
    elsewhere!(mariadb, "DROP TABLE leasehold_locks");
    let (_folder, sqlite) = sqlite().await;
    elsewhere!(sqlite, "DROP TABLE leasehold_locks");
}

#[tokio::test]
async fn commit_is_refused_if_the_row_of_the_lock_was_deleted() {
    let (_folder, pool) = sqlite().await;
    let guard = acquired(&manager(&pool), "deleted").await;
    run!(&pool, "DELETE FROM leasehold_locks");
    let tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
    let commit = tx.commit().await;
    assert!(
        matches!(commit, Err(Error::NotInDatabase { .. })),
        "{commit:?}"
    );
}

#[tokio::test]
async fn a_loss_that_the_holder_knows_is_returned_with_its_reason() {
    let pool = postgres().await;
    let locks = manager(&pool);
    let key = "known";
    item!(&pool, key);
    macro_rules! loses {
        ($reason:ident, |$guard:ident| $lose:expr) => {
            let $guard = acquired(&locks, key).await;
            let handle = $guard.handle();
            let mut tx = LockedTransaction::begin(&pool, &$guard).await.unwrap();
            run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = '{key}'");
            let kept = $lose;
            is_lost(&tx.commit().await, EndReason::$reason);
            let begin = LockedTransaction::begin(&pool, &handle).await;
            is_lost(&begin, EndReason::$reason);
            assert_eq!(seen!(&pool, key), (10, 0));
            #[allow(dropping_copy_types, reason = "a release returns nothing to keep")]
            drop(kept);
            assert!(locks.force_release(key).await.is_ok());
        };
    }
    loses!(Released, |guard| guard.release().await.unwrap());
    loses!(Downgraded, |guard| guard.downgrade().await.unwrap());
    loses!(HandedOver, |guard| guard.hand_over().await.unwrap());
    loses!(Expired, |guard| {
        guard.simulate_loss();
        guard
    });
}

#[tokio::test]
async fn a_rollback_and_a_drop_write_nothing_and_a_response_is_recorded_with_the_writes() {
    let (_folder, pool) = sqlite().await;
    item!(&pool, "rolled back");
    ddl::create_idempotency_records(&pool).await.unwrap();
    let store = SqlIdempotencyStore::new(pool.clone());
    let guard = acquired(&manager(&pool), "rolled back").await;
    let keep = std::time::Duration::from_secs(60);
    for end in ["rollback", "drop", "commit"] {
        let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 11 WHERE id = 'rolled back'"
        );
        let record = IdempotencyRecord {
            key: "request".to_owned(),
            token: guard.token().get(),
            response: b"done".to_vec(),
        };
        record.insert(&mut tx, keep).await.unwrap();
        match end {
            "rollback" => tx.rollback().await.unwrap(),
            "drop" => drop(tx),
            _ => tx.commit().await.unwrap(),
        }
        let expected = if end == "commit" { (11, 1) } else { (10, 0) };
        assert_eq!(seen!(&pool, "rolled back"), expected);
        let found = store.find("request").await.unwrap();
        assert_eq!(found.is_some(), end == "commit");
    }
}
