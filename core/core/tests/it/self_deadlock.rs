//! Calls within the scope of a holder. An acquire of the held lock fails instead of deadlocking.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::pending;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::{EndReason, Error, LockManager, ReentrancyScope};
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::Instant;

/// Returns whether an acquire is refused because this task holds the lock.
async fn is_refused(locks: &LockManager, key: &str) -> bool {
    let started = Instant::now();
    let waiting = locks.lock(key).wait(Duration::from_secs(1)).acquire();
    match waiting.await {
        Err(Error::AlreadyHeld { key: held }) => {
            assert_eq!((held.name(), started.elapsed()), (key, Duration::ZERO));
            true
        }
        Err(Error::TimedOut { .. }) | Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}

fn fine<T>(value: T) -> Result<T, Error> {
    Ok(value)
}

#[tokio::test(start_paused = true)]
async fn acquiring_a_held_key_in_its_scope_returns_already_held() {
    let world = InProcess::new();
    let locks = LockManager::new(world.clone());
    let guard = locks.lock("a").acquire().await.unwrap();
    let handle = guard.handle();
    assert!(!is_refused(&locks, "a").await, "out of scope");
    assert!(handle.scope(is_refused(&locks.clone(), "a")).await);
    assert!(!handle.scope(is_refused(&locks, "b")).await);

    let shop = LockManager::builder().prefix("shop:").build(world.clone());
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
    assert!(matches!(refused, Err(Error::AlreadyHeld { .. })));
}

#[tokio::test(start_paused = true)]
async fn nested_scopes_refuse_both_keys_until_they_end() {
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
async fn a_released_lock_can_be_acquired_again_in_its_scope() {
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
async fn an_acquire_with_a_zero_wait_does_not_queue() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let once = locks.lock("a").wait(Duration::ZERO).acquire().await;
    assert!(matches!(once, Err(Error::TimedOut { .. })));
    assert_eq!(locks.inspect("a").await.unwrap().waiting, 0);
    guard.release().await.unwrap();
    assert!(locks.lock("a").try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_acquire_inside_run_of_the_same_lock_is_refused() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    assert!(
        guard
            .run(async |_| fine(is_refused(&locks, "a").await))
            .await
            .unwrap()
    );
    assert!(
        !guard
            .run(async |_| fine(is_refused(&locks, "b").await))
            .await
            .unwrap()
    );
    let handle = guard.handle();
    assert!(
        handle
            .run(async |_| fine(is_refused(&locks, "a").await))
            .await
            .unwrap()
    );

    let set = locks.lock_all(["b", "c"]).acquire().await.unwrap();
    for key in ["b", "c"] {
        assert!(
            set.run(async |_| fine(is_refused(&locks, key).await))
                .await
                .unwrap(),
            "{key}"
        );
        assert!(
            set.handle()
                .run(async |_| fine(is_refused(&locks, key).await))
                .await
                .unwrap()
        );
    }
    assert!(
        !set.run(async |_| fine(is_refused(&locks, "a").await))
            .await
            .unwrap()
    );
    let inner =
        guard.run(async |_| fine(is_refused(&locks, "a").await && is_refused(&locks, "b").await));
    let both = set.run(async |_| inner.await);
    assert!(both.await.unwrap(), "what is around counts too");
    assert!(!is_refused(&locks, "a").await, "it is over");
}

#[tokio::test(start_paused = true)]
async fn the_locks_held_around_a_body_are_determined_at_each_poll() {
    let locks = LockManager::in_process();
    let a = locks.lock("a").acquire().await.unwrap();
    let b = locks.lock("b").acquire().await.unwrap();
    let body = async || {
        yield_now().await;
        fine(is_refused(&locks, "a").await && is_refused(&locks, "b").await)
    };
    let mut later_within = Box::pin(a.run(async |_| body().await));
    assert!(later_within.as_mut().now_or_never().is_none());
    assert!(b.run(async |_| later_within.await).await.unwrap());
    let mut first_within = Box::pin(a.run(async |_| body().await));
    let begun = b.run(async |_| fine(first_within.as_mut().now_or_never()));
    assert!(begun.await.unwrap().is_none());
    assert!(!first_within.await.unwrap(), "another task may have it");
}

#[tokio::test(start_paused = true)]
async fn a_reentrant_lock_can_be_acquired_again_inside_run() {
    let locks = LockManager::in_process();
    let scope = ReentrancyScope::new();
    let again = || locks.lock("a").reentrant(&scope);
    let guard = again().acquire().await.unwrap();
    let inner = guard.run(async |_| again().acquire().await).await.unwrap();
    assert_eq!(inner.token(), guard.token());
}

#[tokio::test(start_paused = true)]
async fn a_body_run_by_a_handle_ends_when_the_guard_is_released() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let set = locks.lock_all(["b", "c"]).acquire().await.unwrap();
    let (one, all) = (guard.handle(), set.handle());
    let begun = Arc::new(Semaphore::new(0));
    let body = |begun: Arc<Semaphore>| async move {
        begun.add_permits(1);
        pending::<Result<(), Error>>().await
    };
    let (first, second) = (body(Arc::clone(&begun)), body(Arc::clone(&begun)));
    let one = tokio::spawn(async move { one.run(async |_| first.await).await });
    let all = tokio::spawn(async move { all.run(async |_| second.await).await });
    drop(begun.acquire_many(2).await.unwrap());
    let started = Instant::now();
    guard.release().await.unwrap();
    set.release().await.unwrap();
    for (task, key) in [(one, "a"), (all, "b")] {
        let Err(Error::Lost(lost)) = task.await.unwrap() else {
            panic!("it goes on")
        };
        assert_eq!((lost.key.name(), lost.reason), (key, EndReason::Released));
    }
    assert_eq!(started.elapsed(), Duration::ZERO, "not by a deadline");
}

#[tokio::test(start_paused = true)]
async fn a_handle_returns_the_permit_count_and_the_permit_id() {
    let locks = LockManager::in_process();
    let two = locks.semaphore("a", 3).acquire_many(2).await.unwrap();
    let one = locks.semaphore("a", 3).acquire().await.unwrap();
    assert_eq!((two.handle().permits(), one.handle().permits()), (2, 1));
    assert_eq!(two.handle().permit_id(), two.permit_id());
    assert_ne!(two.handle().permit_id(), one.handle().permit_id());
    let handle = two.handle();
    two.release().await.unwrap();
    let lost = handle.ended().await;
    assert_eq!(lost.token, None, "no fence takes what permits have");
    assert_eq!((lost.key.name(), lost.reason), ("a", EndReason::Released));
}

/// Returns the place in the error of an acquire that times out.
async fn acquired_at(locks: &LockManager, key: &str) -> Option<u32> {
    let waiting = locks.lock(key).wait(Duration::from_secs(1)).acquire();
    let error = waiting.await.unwrap_err();
    let Error::TimedOut { acquired_at, .. } = error else {
        panic!("{error}")
    };
    let message = acquired_at.map_or_else(String::new, |place| {
        format!("by this manager, acquired at {}:{}", file!(), place.line())
    });
    assert!(error.to_string().ends_with(&message), "{error}");
    acquired_at.map(Location::line)
}

#[tokio::test(start_paused = true)]
async fn timed_out_names_the_place_where_the_same_manager_acquired_the_lock() {
    let world = InProcess::new();
    let (locks, other) = (LockManager::new(world.clone()), LockManager::new(world));
    let lock = locks.lock("a");
    let (guard, line) = (lock.acquire().await.unwrap(), line!());
    assert_eq!(acquired_at(&locks, "a").await, Some(line));
    assert_eq!(acquired_at(&other, "a").await, None);
    let set = locks.lock_all(["a", "b"]).wait(Duration::from_secs(1));
    let timed_out = set.acquire().await.unwrap_err();
    assert!(
        matches!(timed_out, Error::TimedOut { acquired_at: Some(place), .. } if place.line() == line)
    );
    guard.release().await.unwrap();

    let lock = locks.rw_lock("a").read();
    let (_reader, line) = (lock.acquire().await.unwrap(), line!());
    assert_eq!(acquired_at(&locks, "a").await, Some(line));

    let (lock, line) = (locks.lock("b"), line!());
    let body = lock.run(async |_| pending::<Result<(), Error>>().await);
    let waiting = acquired_at(&locks, "b");
    let found = tokio::select! {
        biased;
        _never = body => None,
        found = waiting => found,
    };
    assert_eq!(found, Some(line));
}
