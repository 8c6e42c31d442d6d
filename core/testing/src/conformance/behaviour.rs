//! Behaviour that users of locks rely on, tested through managers.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::helpers::{eventually, fresh_name, in_time, short_ttl};
use crate::faulty_backend::{BackendCall, Command, Fault, Faulty};
use leasehold_core::backend::Backend;
use leasehold_core::{EndReason, Error, FencingToken, LockGuard, LockManager};

async fn manager<B: Backend>(connect: &impl AsyncFn() -> B) -> LockManager {
    LockManager::new(connect().await)
}

/// Calls `try_acquire`, and retries it on temporary errors.
async fn try_acquire(locks: &LockManager, key: &str) -> Option<LockGuard> {
    loop {
        match locks.lock(key).try_acquire().await {
            Ok(guard) => return guard,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    }
}

async fn becomes_free(locks: &LockManager, key: &str) {
    eventually(
        "the lock is free and has no waiters",
        async || match locks.inspect(key).await {
            Ok(seen) => seen.is_free(),
            Err(Error::Backend { .. }) => false,
            Err(error) => panic!("{error}"),
        },
    )
    .await;
}

/// Checks that read-wait-write sections of many tasks over two connections never overlap, and that tokens increase in
/// the order of the sections.
pub async fn contending_tasks_never_hold_the_lock_together<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    const TASKS: u64 = 8;
    const ROUNDS: u64 = 20;
    let managers = [manager(&connect).await, manager(&connect).await];
    let key = fresh_name("contention");
    let register: Arc<Mutex<(u64, Option<FencingToken>)>> = Arc::default();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let locks = managers[usize::from(task % 2 == 0)].clone();
        let (key, register) = (key.clone(), Arc::clone(&register));
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                let guard = locks.lock(&key).acquire().await.expect("acquire");
                let (count, last) = *register.lock();
                sleep(Duration::from_micros(500)).await;
                assert!(
                    Some(guard.token()) > last,
                    "{} after {last:?}",
                    guard.token()
                );
                *register.lock() = (count + 1, Some(guard.token()));
                // Even if the confirmation is lost, the next task gets the lock.
                let _outcome = guard.release().await;
            }
        });
    }
    in_time("all tasks get their turns", tasks.join_all()).await;
    assert_eq!(register.lock().0, TASKS * ROUNDS);
    becomes_free(&managers[0], &key).await;
}

/// Checks that a guard holds its lock for many times the TTL, and that no other caller acquires the lock.
pub async fn a_held_lock_is_renewed<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    // On a busy machine, a renewal by a database may take half a second.
    let ttl = (short_ttl(&backend) * 2).max(Duration::from_millis(2_400));
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("renewed");
    let guard = here.lock(&key).ttl(ttl).acquire().await.expect("acquire");
    let started = Instant::now();
    while started.elapsed() < ttl * 3 {
        assert!(guard.is_valid());
        assert!(try_acquire(&there, &key).await.is_none());
        sleep(ttl / 10).await;
    }
    // The confirmation may be late on a busy machine, but the lock was held until now.
    let released = guard.release().await;
    assert!(!matches!(released, Err(Error::Lost(_))), "{released:?}");
    becomes_free(&there, &key).await;
}

/// Checks that an expired guard reports its loss, both by itself and at its release, and that the next token is larger.
pub async fn an_expired_guard_reports_its_loss<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    let ttl = short_ttl(&backend);
    // The lease counts from the last request. On a busy machine, an earlier request may have had no reply in time.
    let sent = Arc::new(Mutex::new(Instant::now()));
    let backend = Faulty::new(backend, {
        let sent = Arc::clone(&sent);
        move |call: &BackendCall| {
            if call.command == Command::Attempt {
                *sent.lock() = Instant::now();
            }
            Fault::None
        }
    });
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("expired");
    let lock = here.lock(&key).ttl(ttl).without_renewal();
    let guard = lock.acquire().await.expect("acquire");
    let started = *sent.lock();
    // The deadline must be correct even if this task runs late.
    loop {
        let elapsed = started.elapsed();
        if !guard.is_valid() {
            break;
        }
        assert!(elapsed < ttl, "valid after {elapsed:?}");
        let (elapsed, valid_for) = (started.elapsed(), guard.valid_for());
        assert!(
            elapsed + valid_for <= ttl.max(elapsed),
            "{valid_for:?} after {elapsed:?}"
        );
        sleep(ttl / 20).await;
    }
    let lost = in_time("an expired guard reports its loss", guard.ended()).await;
    assert_eq!(lost.reason, EndReason::Expired);
    assert!(!guard.is_valid());
    assert!(guard.run(async |_| Ok::<_, Error>(())).await.is_err());
    let next = in_time("the lock is free", there.lock(&key).acquire());
    assert!(next.await.expect("acquire").token() > guard.token());
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
}

/// Checks that a holder detects a forced release with its next renewal, before its lease would end.
pub async fn a_holder_detects_a_forced_release_at_its_next_renewal<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    // The renewal comes after a third of it, and may be late.
    let ttl = (short_ttl(&backend) * 2).max(Duration::from_secs(6));
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("forced");
    let guard = here.lock(&key).ttl(ttl).acquire().await.expect("acquire");
    eventually("an operator's command goes through", async || {
        there.force_release(&key).await.is_ok()
    })
    .await;
    let lost = in_time("the holder learns of its loss", guard.ended()).await;
    assert_eq!(lost.reason, EndReason::Gone);
}

/// Checks that dropping a guard frees the lock without a wait for the end of its lease.
pub async fn a_dropped_guard_frees_its_lock<B: Backend>(connect: impl AsyncFn() -> B) {
    let locks = manager(&connect).await;
    let key = fresh_name("dropped");
    for _ in 0..5 {
        drop(locks.lock(&key).acquire().await.expect("acquire"));
        becomes_free(&locks, &key).await;
    }
}

/// Checks that dropping a waiting acquire removes it from the queue, and that dropping an acquire at any other time
/// leaves no lock held.
pub async fn a_cancelled_acquire_leaves_no_waiter_and_no_lock<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (manager(&connect).await, manager(&connect).await);
    let key = fresh_name("cancelled");
    let guard = here.lock(&key).acquire().await.expect("acquire");
    for waiters in 1..5 {
        let waiting: Vec<_> = (0..waiters)
            .map(|_| tokio::spawn(there.lock(&key).acquire()))
            .collect();
        eventually("all wait", async || {
            here.inspect(&key)
                .await
                .is_ok_and(|seen| seen.waiting == waiters)
        })
        .await;
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        eventually("there are no waiters", async || {
            here.inspect(&key).await.is_ok_and(|seen| seen.waiting == 0)
        })
        .await;
    }
    let waiting = tokio::spawn(there.lock(&key).acquire());
    eventually("one waits", async || {
        here.inspect(&key).await.is_ok_and(|seen| seen.waiting == 1)
    })
    .await;
    drop(guard);
    waiting.abort();
    // The task was aborted, or it acquired the lock and dropped it.
    drop(waiting.await);
    becomes_free(&here, &key).await;
}

/// Checks that an acquire times out after its wait, and then leaves nothing on the backend.
pub async fn an_acquire_times_out_after_its_wait<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (manager(&connect).await, manager(&connect).await);
    let key = fresh_name("limit");
    let guard = here.lock(&key).acquire().await.expect("acquire");
    let wait = Duration::from_millis(300);
    let started = Instant::now();
    let error = there.lock(&key).wait(wait).acquire().await.err();
    assert!(
        matches!(&error, Some(Error::TimedOut { waited, .. }) if *waited >= wait),
        "{error:?}"
    );
    assert!(started.elapsed() >= wait);
    drop(guard);
    becomes_free(&here, &key).await;
}

/// Checks that a shutdown ends guards and waiters, and leaves nothing on the backend.
pub async fn a_shutdown_releases_guards_and_ends_waiters<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (manager(&connect).await, manager(&connect).await);
    let (held, busy) = (fresh_name("shutdown"), fresh_name("shutdown"));
    let guard = here.lock(&held).acquire().await.expect("acquire");
    let other = there.lock(&busy).acquire().await.expect("acquire");
    let waiter = tokio::spawn(here.lock(&busy).acquire());
    eventually("the waiter waits", async || {
        there
            .inspect(&busy)
            .await
            .is_ok_and(|seen| seen.waiting == 1)
    })
    .await;
    in_time("a shutdown ends", here.shutdown())
        .await
        .expect("shutdown");
    assert_eq!(guard.ended().await.reason, EndReason::Shutdown);
    let refused = waiter.await.expect("no panic").err();
    assert!(matches!(refused, Some(Error::Closed { .. })), "{refused:?}");
    let refused = here.lock(&held).try_acquire().await.err();
    assert!(matches!(refused, Some(Error::Closed { .. })), "{refused:?}");
    becomes_free(&there, &held).await;
    drop(other);
    becomes_free(&there, &busy).await;
}

/// Checks that acquires are served in the order in which they were made. Does nothing if the backend does not have the
/// capability `fifo`.
pub async fn acquires_are_served_in_the_order_of_their_calls<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    const WAITERS: usize = 6;
    let backend = connect().await;
    if !backend.capabilities().fifo {
        return;
    }
    let managers = [LockManager::new(backend), manager(&connect).await];
    let key = fresh_name("order");
    let guard = managers[0].lock(&key).acquire().await.expect("acquire");
    let served: Arc<Mutex<Vec<usize>>> = Arc::default();
    let mut tasks = JoinSet::new();
    for place in 0..WAITERS {
        let locks = managers[place % 2].clone();
        let (lock, served) = (locks.lock(&key), Arc::clone(&served));
        tasks.spawn(async move {
            let guard = lock.acquire().await.expect("acquire");
            served.lock().push(place);
            drop(guard);
        });
        eventually("the waiter is queued", async || {
            let seen = managers[0].inspect(&key).await;
            seen.is_ok_and(|seen| seen.waiting == place + 1)
        })
        .await;
    }
    drop(guard);
    in_time("all are served", tasks.join_all()).await;
    assert_eq!(*served.lock(), (0..WAITERS).collect::<Vec<_>>());
}
