//! A task that says what it holds is told when it would wait for itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::{AcquireError, LockManager};
use tokio::time::Instant;

/// Whether an acquire is refused because this task holds the lock.
async fn is_refused(locks: &LockManager, key: &str) -> bool {
    let started = Instant::now();
    let waiting = locks.lock(key).wait(Duration::from_secs(1)).acquire();
    match waiting.await {
        Err(AcquireError::AlreadyHeld { key: held }) => {
            assert_eq!((held.name(), started.elapsed()), (key, Duration::ZERO));
            true
        }
        Err(AcquireError::TimedOut { .. }) | Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn in_scope_the_same_key_of_the_same_manager_is_refused() {
    let world = InProcess::new();
    let locks = LockManager::new(world.clone());
    let guard = locks.lock("a").acquire().await.unwrap();
    let handle = guard.handle();
    assert!(!is_refused(&locks, "a").await, "out of scope");
    assert!(handle.scope(is_refused(&locks.clone(), "a")).await);
    assert!(!handle.scope(is_refused(&locks, "b")).await);

    let shop = LockManager::builder(world.clone()).prefix("shop:").build();
    let others = [
        LockManager::new(world),
        LockManager::in_process(),
        shop.unwrap(),
    ];
    for other in others {
        assert!(!handle.scope(is_refused(&other, "a")).await);
    }
    let busy = handle.scope(locks.lock("a").try_acquire()).await;
    assert!(busy.unwrap().is_none(), "a lock of one's own is busy");
    let once = locks.lock("a").wait(Duration::ZERO).acquire();
    let refused = handle.scope(once).await;
    assert!(matches!(refused, Err(AcquireError::AlreadyHeld { .. })));
}

#[tokio::test(start_paused = true)]
async fn scopes_nest_and_end() {
    let locks = LockManager::in_process();
    let first = locks.lock("a").acquire().await.unwrap();
    let second = locks.lock("b").acquire().await.unwrap();
    let nested = async {
        let inside = second
            .handle()
            .scope(async { is_refused(&locks, "a").await && is_refused(&locks, "b").await });
        assert!(inside.await);
        is_refused(&locks, "a").await && !is_refused(&locks, "b").await
    };
    assert!(first.handle().scope(nested).await);
    let directly = first
        .handle()
        .scope(second.handle().scope(is_refused(&locks, "a")));
    assert!(
        directly.await,
        "whatever the order in which the futures were made"
    );
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_is_not_in_scope() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let spawned = async {
        let locks = locks.clone();
        tokio::spawn(async move { is_refused(&locks, "a").await }).await
    };
    assert!(!guard.handle().scope(spawned).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_has_lost_or_released_a_lock_may_take_it_again() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let handle = guard.handle();
    handle
        .scope(async {
            assert!(is_refused(&locks, "a").await);
            guard.release().await.unwrap();
            assert!(!is_refused(&locks, "a").await);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_wait_takes_no_place_in_the_queue() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let once = locks.lock("a").wait(Duration::ZERO).acquire().await;
    assert!(matches!(once, Err(AcquireError::TimedOut { .. })));
    assert_eq!(locks.inspect("a").await.unwrap().waiting, 0);
    guard.release().await.unwrap();
    assert!(locks.lock("a").try_acquire().await.unwrap().is_some());
}
