//! Reentrant locks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::kind::Reentrant;
use leasehold::{
    EndReason, Error, Lock, LockManager, ReentrancyScope, ReentrantRelease as Outcome,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Waits longer than any background work after a drop.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

/// Returns a manager and the number of commands at its backend. The reply to each attempt takes a second.
fn counted(answer: Fault) -> (LockManager, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let backend = Faulty::new(InProcess::new(), move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        match call.command {
            Command::Attempt => answer,
            _ => Fault::None,
        }
    });
    (LockManager::new(backend), count)
}

async fn is_free(locks: &LockManager, key: &str) -> bool {
    locks.inspect(key).await.unwrap().is_free()
}

/// `run` enters the scope, so that a nested `run` shares the lock.
#[tokio::test(start_paused = true)]
async fn run_of_a_reentrant_lock_enters_its_scope_and_releases_at_its_end() {
    async fn pack(locks: &LockManager) -> Result<leasehold::FencingToken, Error> {
        let scope = ReentrancyScope::current().unwrap_or_default();
        let order = locks.lock("k").reentrant(&scope);
        order.run(async |lock| Ok(lock.token())).await
    }

    let locks = LockManager::in_process();
    let order = locks.lock("k").reentrant(&ReentrancyScope::new());
    let run = order.run(async |lock| {
        assert_eq!(pack(&locks).await?, lock.token());
        assert!(lock.is_valid(), "the inner run does not release the lock");
        let plain = locks.lock("k").acquire().await;
        assert!(matches!(plain, Err(Error::AlreadyHeld { .. })), "{plain:?}");
        Ok::<_, Error>(7)
    });
    assert_eq!(run.await.unwrap(), 7);
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test(start_paused = true)]
async fn a_nested_acquire_has_the_same_token_and_sends_no_request() {
    let (locks, commands) = counted(Fault::None);
    let scope = ReentrancyScope::new();
    let lock = locks.lock("k").reentrant(&scope);
    let outer = lock.clone().acquire().await.unwrap();
    assert_eq!(commands.load(Ordering::SeqCst), 1);
    let inner = lock.clone().acquire().now_or_never().unwrap().unwrap();
    let tried = lock.try_acquire().now_or_never().unwrap().unwrap();
    assert_eq!(inner.token(), outer.token());
    assert_eq!(tried.unwrap().token(), outer.token());
    assert_eq!(inner.release().await.unwrap(), Outcome::StillHeld);
    assert_eq!(commands.load(Ordering::SeqCst), 1);
    assert_eq!(outer.release().await.unwrap(), Outcome::Released);
    assert_eq!(commands.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn the_lock_is_free_when_the_last_guard_ends_in_any_order() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let acquire = async || locks.lock("k").reentrant(&scope).acquire().await.unwrap();
    let (outer, inner) = (acquire().await, acquire().await);
    assert_eq!(outer.release().await.unwrap(), Outcome::StillHeld);
    assert!(inner.is_valid() && !is_free(&locks, "k").await);
    drop(inner);
    settle().await;
    assert!(
        is_free(&locks, "k").await,
        "a guard that is dropped is last, too"
    );
    let first = acquire().await;
    drop(acquire().await);
    settle().await;
    assert!(first.is_valid() && !is_free(&locks, "k").await);
    let handle = first.handle();
    assert_eq!(first.release().await.unwrap(), Outcome::Released);
    assert_eq!(handle.ended().await.reason, EndReason::Released);
    assert!(is_free(&locks, "k").await);
}

#[test]
fn exactly_one_of_several_concurrent_releases_frees_the_lock() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..500 {
        let outcomes = runtime.block_on(async {
            let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
            let lock = locks.lock("k").reentrant(&scope);
            let mut guards = Vec::new();
            for _ in 0..4 {
                guards.push(lock.clone().acquire().await.unwrap());
            }
            let releases: Vec<_> = guards
                .into_iter()
                .map(|guard| tokio::spawn(guard.release()))
                .collect();
            let mut last = 0;
            for release in releases {
                let outcome = release.await.unwrap().unwrap();
                last += usize::from(outcome == Outcome::Released);
            }
            assert!(is_free(&locks, "k").await);
            last
        });
        assert_eq!(outcomes, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_acquires_of_one_scope_send_one_request() {
    let (locks, commands) = counted(Fault::SlowAnswer(SECOND));
    let scope = ReentrancyScope::new();
    let lock = locks.lock("k").reentrant(&scope);
    let tasks = (0..8).map(|_| tokio::spawn(lock.clone().acquire()));
    let tasks: Vec<_> = tasks.collect();
    let mut guards = Vec::new();
    for task in tasks {
        guards.push(task.await.unwrap().unwrap());
    }
    assert_eq!(commands.load(Ordering::SeqCst), 1);
    assert!(
        guards
            .iter()
            .all(|guard| guard.token() == guards[0].token())
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_task_that_acquires_for_a_scope_blocks_no_other() {
    let (locks, commands) = counted(Fault::SlowAnswer(SECOND));
    let scope = ReentrancyScope::new();
    let lock = locks.lock("k").reentrant(&scope);
    let first = tokio::spawn(lock.clone().acquire());
    settle().await;
    let second = tokio::spawn(lock.clone().acquire());
    settle().await;
    assert_eq!(commands.load(Ordering::SeqCst), 1);
    first.abort();
    let guard = second.await.unwrap().unwrap();
    assert_eq!(guard.release().await.unwrap(), Outcome::Released);
    assert!(is_free(&locks, "k").await);
}

#[tokio::test(start_paused = true)]
async fn a_failed_acquire_returns_its_error_and_the_next_sends_a_request() {
    let mut attempts = 0;
    let backend = Faulty::new(InProcess::new(), move |call| {
        attempts += usize::from(call.command == Command::Attempt);
        match attempts {
            1 => Fault::Fail,
            _ => Fault::None,
        }
    });
    let (locks, scope) = (LockManager::new(backend), ReentrancyScope::new());
    let lock = locks.lock("k").reentrant(&scope);
    let failed = lock.clone().try_acquire().await;
    assert!(matches!(failed, Err(Error::Backend { .. })));
    assert!(lock.try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_is_never_shared_with_a_new_guard() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let lock = locks.lock("k").reentrant(&scope);
    let (one, two) = (lock.clone().acquire().await, lock.clone().acquire().await);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(locks.force_release("k").await.unwrap());
    assert_eq!(two.ended().await.reason, EndReason::Gone);
    assert!(!one.is_valid(), "lost for one, lost for all");
    let anew = lock.clone().acquire().await.unwrap();
    assert!(anew.token() > one.token());
    let again = lock.acquire().await.unwrap();
    assert_eq!(again.token(), anew.token());
    for released in [one.release().await, two.release().await] {
        assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Gone));
    }
    assert!(
        anew.is_valid(),
        "the release of what was lost is about that alone"
    );
    assert_eq!(again.release().await.unwrap(), Outcome::StillHeld);
    assert_eq!(anew.release().await.unwrap(), Outcome::Released);
}

#[tokio::test(start_paused = true)]
async fn the_first_acquire_decides_on_ttl_hold_and_renewal() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let lock = || {
        locks
            .lock("k")
            .ttl(Duration::from_secs(9))
            .reentrant(&scope)
    };
    let outer = lock().max_hold(SECOND * 60).acquire().await.unwrap();
    let inner = lock().ttl(SECOND).max_hold(SECOND).without_renewal();
    let inner = inner.acquire().await.unwrap();
    sleep(SECOND * 59).await;
    assert!(inner.is_valid());
    assert_eq!(inner.ended().await.reason, EndReason::MaxHold);
    let wrong = lock().ttl(Duration::ZERO).acquire().await;
    assert!(
        matches!(wrong, Err(Error::Option(_))),
        "looked at all the same"
    );
    drop(outer);
}

#[tokio::test(start_paused = true)]
async fn locks_of_other_managers_or_scopes_are_not_shared() {
    let (world, scope) = (InProcess::new(), ReentrancyScope::new());
    let locks = LockManager::new(world.clone());
    let guard = locks.lock("k").reentrant(&scope).acquire().await.unwrap();
    let shared = locks
        .clone()
        .lock("k")
        .reentrant(&scope.clone())
        .try_acquire();
    assert!(shared.await.unwrap().is_some(), "clones are the same");
    let other_scope = locks
        .lock("k")
        .reentrant(&ReentrancyScope::new())
        .try_acquire();
    assert!(other_scope.await.unwrap().is_none());
    let other_manager = LockManager::new(world).lock("k").reentrant(&scope);
    assert!(other_manager.try_acquire().await.unwrap().is_none());
    let other_world = LockManager::in_process();
    let elsewhere = other_world
        .lock("k")
        .reentrant(&scope)
        .acquire()
        .await
        .unwrap();
    assert_eq!(elsewhere.release().await.unwrap(), Outcome::Released);
    assert_eq!(format!("{scope:?}"), "ReentrancyScope {Key(\"lock:k\")}");
    drop(guard);
}

async fn is_refused(lock: Lock<Reentrant>) -> bool {
    let started = Instant::now();
    match lock.wait(SECOND).acquire().await {
        Err(Error::AlreadyHeld { .. }) => started.elapsed().is_zero(),
        Err(Error::TimedOut { .. }) | Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn plain_is_refused(locks: &LockManager, key: &str) -> bool {
    let started = Instant::now();
    match locks.lock(key).wait(SECOND).acquire().await {
        Err(Error::AlreadyHeld { .. }) => started.elapsed().is_zero(),
        Err(Error::TimedOut { .. }) | Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn acquiring_a_key_held_by_the_own_scope_fails_immediately() {
    let locks = LockManager::in_process();
    let (scope, other) = (ReentrancyScope::new(), ReentrancyScope::new());
    let guard = locks.lock("k").reentrant(&scope).acquire().await.unwrap();
    assert!(!plain_is_refused(&locks, "k").await, "out of the scope");
    assert!(scope.enter(plain_is_refused(&locks, "k")).await);
    assert!(!scope.enter(plain_is_refused(&locks, "other")).await);
    let nested = scope.enter(other.enter(async {
        plain_is_refused(&locks, "k").await && is_refused(locks.lock("k").reentrant(&other)).await
    }));
    assert!(nested.await, "in a scope around the innermost one");
    let reader = locks.rw_lock("k").read().acquire();
    let read = scope.enter(reader).await;
    assert!(matches!(read, Err(Error::AlreadyHeld { .. })));
    let tried = scope.enter(locks.lock("k").try_acquire()).await;
    assert!(tried.unwrap().is_none(), "a lock of one's own is busy");
    let spawned = locks.clone();
    let spawned =
        async move { tokio::spawn(async move { plain_is_refused(&spawned, "k").await }).await };
    assert!(!scope.enter(spawned).await.unwrap());
    guard.release().await.unwrap();
    assert!(
        !scope.enter(plain_is_refused(&locks, "k")).await,
        "released"
    );
}

#[tokio::test(start_paused = true)]
async fn a_plain_lock_is_not_shared_with_a_scope() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let plain = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k").reentrant(&scope);
    assert!(plain.handle().scope(is_refused(lock.clone())).await);
    assert!(!is_refused(lock.clone()).await, "it waits");
    plain.release().await.unwrap();
    let own = lock.clone().acquire().await.unwrap();
    let handle = own.handle();
    let again = handle.scope(scope.enter(lock.acquire())).await.unwrap();
    assert_eq!(again.token(), own.token());
}

#[tokio::test(start_paused = true)]
async fn the_current_scope_is_the_innermost_until_its_future_ends() {
    assert!(ReentrancyScope::current().is_none());
    let (locks, outer) = (LockManager::in_process(), ReentrancyScope::new());
    let guard = locks.lock("k").reentrant(&outer).acquire().await.unwrap();
    let current_shares = async || {
        let scope = ReentrancyScope::current().unwrap();
        locks
            .lock("k")
            .reentrant(&scope)
            .try_acquire()
            .await
            .unwrap()
            .is_some()
    };
    assert!(outer.enter(current_shares()).await);
    let inner = ReentrancyScope::new();
    outer
        .enter(async {
            assert!(!inner.enter(current_shares()).await);
            assert!(current_shares().await);
        })
        .await;
    assert!(ReentrancyScope::current().is_none());
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn an_acquire_behind_another_of_its_scope_times_out_after_its_wait() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let foreign = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k").reentrant(&scope);
    let waiting = tokio::spawn(lock.clone().acquire());
    settle().await;
    let started = Instant::now();
    let Err(Error::TimedOut { waited, key, .. }) = lock.clone().wait(SECOND).acquire().await else {
        panic!("it is busy");
    };
    assert_eq!(
        (waited, started.elapsed(), key.name()),
        (SECOND, SECOND, "k")
    );
    assert!(
        lock.clone()
            .try_acquire()
            .now_or_never()
            .unwrap()
            .unwrap()
            .is_none()
    );
    assert_eq!(locks.inspect("k").await.unwrap().waiting, 1, "one for all");
    foreign.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert!(lock.try_acquire().await.unwrap().is_some());
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_all_acquires_of_a_scope_return_closed() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let held = locks
        .lock("held")
        .reentrant(&scope)
        .acquire()
        .await
        .unwrap();
    let foreign = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k").reentrant(&scope);
    let mut first = pin!(lock.clone().acquire());
    assert!(
        first.as_mut().now_or_never().is_none(),
        "it holds the turn, and nobody polls it"
    );
    let second = tokio::spawn(lock.acquire());
    settle().await;
    let shutdown = locks.clone();
    let shutdown = tokio::spawn(async move { shutdown.shutdown().await });
    let told = second.await.unwrap();
    assert!(matches!(told, Err(Error::Closed { .. })));
    let nested = locks.lock("held").reentrant(&scope).acquire().await;
    assert!(matches!(nested, Err(Error::Closed { .. })));
    assert!(matches!(first.await, Err(Error::Closed { .. })));
    shutdown.await.unwrap().unwrap();
    drop((held, foreign));
}

#[tokio::test(start_paused = true)]
async fn an_accepted_lock_can_be_reentrant() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let giver = locks.lock("k").acquire().await.unwrap();
    let ticket = giver.hand_over().await.unwrap();
    let taken = locks.accept(&ticket).reentrant(&scope).await.unwrap();
    assert!(taken.token() > ticket.token());
    let nested = locks.lock("k").reentrant(&scope).acquire().await.unwrap();
    assert_eq!(nested.token(), taken.token());
    let again = locks.accept(&ticket).reentrant(&scope).await;
    assert!(
        matches!(again, Err(Error::HandoverSpent { .. })),
        "it is no nested acquire"
    );
}

#[tokio::test]
async fn a_reentrant_acquire_outside_a_runtime_returns_no_runtime() {
    let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
    let acquire = locks.lock("k").reentrant(&scope).acquire();
    let outside = std::thread::spawn(move || acquire.now_or_never());
    let told = outside.join().unwrap().unwrap();
    assert!(matches!(told, Err(Error::NoRuntime)));
}

/// Polls `operation` until it has returned `Pending` `points` times, then drops it. Returns `false` if it completed
/// before.
async fn dropped_after(points: usize, operation: impl Future<Output = ()>) -> bool {
    let mut operation = pin!(operation);
    let mut pending = 0;
    poll_fn(|cx| {
        if pending == points {
            return Poll::Ready(true);
        }
        pending += 1;
        operation.as_mut().poll(cx).map(|()| false)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn an_acquire_dropped_at_any_await_point_leaves_the_lock_free() {
    for (busy, fault) in [(false, Fault::SlowAnswer(SECOND)), (true, Fault::None)] {
        let mut points = 0;
        loop {
            let (locks, _commands) = counted(fault);
            let scope = ReentrancyScope::new();
            let lock = locks.lock("k").reentrant(&scope);
            let foreign = locks.lock("k");
            if busy {
                let guard = foreign.acquire().await.unwrap();
                tokio::spawn(async move {
                    sleep(SECOND).await;
                    drop(guard);
                });
            }
            let dropped = dropped_after(points, async {
                drop(lock.clone().acquire().await.unwrap());
            });
            let dropped = dropped.await;
            sleep(SECOND + Duration::from_millis(1)).await;
            assert!(is_free(&locks, "k").await, "dropped at {points}");
            let started = Instant::now();
            let next = lock.acquire().await.unwrap();
            assert!(
                next.is_valid() && started.elapsed() <= SECOND,
                "dropped at {points}"
            );
            if !dropped {
                break;
            }
            points += 1;
        }
        assert!(points > 0);
    }
}
