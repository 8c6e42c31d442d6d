//! Minimum hold times in process, with virtual time: a released lock stays taken, and then becomes free in time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, InvalidOption, Lock, LockManager, MAX_TTL, ReentrancyScope};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// A released lock stays taken for up to this time longer, because servers count whole milliseconds.
const PRECISION: Duration = Duration::from_millis(2);

fn minute(locks: &LockManager) -> Lock {
    locks.lock("k").hold_at_least(MINUTE)
}

async fn is_taken(locks: &LockManager) -> bool {
    // A release in the background comes first.
    sleep(Duration::from_micros(1)).await;
    locks.inspect("k").await.unwrap().holders > 0
}

/// Checks that the lock stays taken until `end`, and not longer.
async fn is_taken_until(locks: &LockManager, end: Instant) {
    assert!(is_taken(locks).await);
    advance(end - Instant::now() - PRECISION).await;
    assert!(is_taken(locks).await);
    advance(PRECISION * 2).await;
    assert!(!is_taken(locks).await);
}

#[tokio::test(start_paused = true)]
async fn a_release_drop_cancel_or_panic_leaves_the_lock_taken() {
    let locks = LockManager::in_process();
    let stays_taken = async |begun: Instant| is_taken_until(&locks, begun + MINUTE).await;

    let begun = Instant::now();
    let guard = minute(&locks).acquire().await.unwrap();
    let handle = guard.handle();
    sleep(SECOND).await;
    guard.release().await.unwrap();
    assert_eq!(handle.ended().await.reason, EndReason::Released);
    stays_taken(begun).await;

    let begun = Instant::now();
    drop(minute(&locks).acquire().await.unwrap());
    stays_taken(begun).await;

    let begun = Instant::now();
    let ran = minute(&locks).run(async |_| Ok::<_, Error>(7)).await;
    assert_eq!(ran.unwrap(), 7);
    stays_taken(begun).await;

    let begun = Instant::now();
    let mut cancelled =
        Box::pin(minute(&locks).run(async |_| pending::<Result<(), Error>>().await));
    assert!(cancelled.as_mut().now_or_never().is_none());
    drop(cancelled);
    stays_taken(begun).await;

    let begun = Instant::now();
    let panics = minute(&locks).run(async |_| -> Result<(), Error> { panic!("in the body") });
    assert!(AssertUnwindSafe(panics).catch_unwind().await.is_err());
    stays_taken(begun).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_the_minimum_hold_time() {
    let world = InProcess::new();
    let (locks, other) = (LockManager::new(world.clone()), LockManager::new(world));
    let begun = Instant::now();
    let _guard = minute(&locks).acquire().await.unwrap();
    locks.shutdown().await.unwrap();
    assert!(begun.elapsed() < SECOND);
    is_taken_until(&other, begun + MINUTE).await;
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_dropped_leaves_the_lock_free() {
    let locks = LockManager::in_process();
    let held = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(minute(&locks).acquire());
    yield_now().await;
    waiting.abort();
    assert!(waiting.await.is_err());
    held.release().await.unwrap();
    assert!(!is_taken(&locks).await);
}

#[tokio::test(start_paused = true)]
async fn the_first_waiter_acquires_when_the_minimum_hold_time_has_passed() {
    let locks = LockManager::in_process();
    // The waiter polls every two seconds, and neither time is a multiple of that.
    for (held, minimum) in [(700, 1_900), (3_100, 3_300), (1_000, 4_500)] {
        let (held, minimum) = (Duration::from_millis(held), Duration::from_millis(minimum));
        let begun = Instant::now();
        let lock = locks.lock("k").hold_at_least(minimum);
        let guard = lock.acquire().await.unwrap();
        let waiting = tokio::spawn(locks.lock("k").acquire());
        sleep(held).await;
        guard.release().await.unwrap();
        drop(waiting.await.unwrap().unwrap());
        let late = begun.elapsed() - minimum;
        assert!(late <= PRECISION, "{late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_held_longer_than_the_minimum_is_free_at_its_release() {
    let locks = LockManager::in_process();
    let guard = minute(&locks).acquire().await.unwrap();
    sleep(MINUTE * 3).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
    assert!(!is_taken(&locks).await);
}

#[tokio::test(start_paused = true)]
async fn a_crash_leaves_the_lock_taken_until_its_last_lease_ends() {
    let locks = LockManager::in_process();
    let lock = minute(&locks).ttl(SECOND).without_renewal();
    let begun = Instant::now();
    std::mem::forget(lock.acquire().await.unwrap());
    is_taken_until(&locks, begun + MINUTE).await;
    // A TTL that is longer applies as it is.
    let lock = minute(&locks).ttl(MINUTE * 2).without_renewal();
    let begun = Instant::now();
    std::mem::forget(lock.acquire().await.unwrap());
    is_taken_until(&locks, begun + MINUTE * 2).await;
}

#[test]
fn a_runtime_that_ends_with_the_guard_leaves_the_lock_taken() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    };
    let minimum = Duration::from_millis(200);
    let locks = LockManager::in_process();
    let ends = runtime();
    let lock = locks.lock("k").hold_at_least(minimum);
    let guard = ends.block_on(lock.acquire()).unwrap();
    let begun = std::time::Instant::now();
    drop(ends);
    drop(guard);
    // The waiter's runtime continues the release, so the lock is free long before the TTL of 30 s.
    let next = locks.lock("k").wait(Duration::from_secs(20)).acquire();
    drop(runtime().block_on(next).unwrap());
    assert!(begun.elapsed() >= minimum, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_stays_taken_but_a_force_released_lock_does_not() {
    let locks = LockManager::in_process();
    let begun = Instant::now();
    let guard = minute(&locks).max_hold(SECOND).acquire().await.unwrap();
    assert_eq!(guard.ended().await.reason, EndReason::MaxHold);
    assert!(guard.release().await.unwrap_err().is_lost());
    is_taken_until(&locks, begun + MINUTE).await;

    // An operator's command ends the lock, and the lost guard does not end the lock of the next holder.
    let guard = minute(&locks).acquire().await.unwrap();
    assert!(locks.force_release("k").await.unwrap());
    let next = locks.lock("k").try_acquire().await.unwrap().unwrap();
    assert!(guard.release().await.unwrap_err().is_lost());
    assert!(next.is_valid() && is_taken(&locks).await);
    next.release().await.unwrap();
    assert!(!is_taken(&locks).await);
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_release_is_retried_and_keeps_the_minimum_hold_time() {
    for (fault, unconfirmed_for) in [(Fault::LoseAnswer, 1), (Fault::Fail, 30), (Fault::Fail, 90)] {
        let (begun, unconfirmed_for) = (Instant::now(), SECOND * unconfirmed_for);
        let world = InProcess::new();
        let other = LockManager::new(world.clone());
        let locks = LockManager::new(Faulty::new(world, move |call| {
            let fails = call.command == Command::Release && begun.elapsed() < unconfirmed_for;
            if fails { fault } else { Fault::None }
        }));
        // The TTL is longer, so the lock is free in time only if a retry arrives.
        let lock = minute(&locks).ttl(MINUTE * 10);
        let released = lock.acquire().await.unwrap().release().await;
        assert_eq!(released.is_ok(), unconfirmed_for == SECOND, "{released:?}");
        if unconfirmed_for < MINUTE {
            sleep(unconfirmed_for + SECOND * 2).await;
            is_taken_until(&other, begun + MINUTE).await;
        } else {
            advance(unconfirmed_for - SECOND - begun.elapsed()).await;
            assert!(is_taken(&other).await);
            // A retry after the time is a plain release.
            sleep(SECOND * 4).await;
            assert!(!is_taken(&other).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_minimum_of_a_reentrant_lock_counts_from_its_first_acquire() {
    let locks = LockManager::in_process();
    let scope = ReentrancyScope::new();
    let begun = Instant::now();
    let outer = minute(&locks).reentrant(&scope).acquire().await.unwrap();
    sleep(SECOND * 20).await;
    let inner = locks.lock("k").reentrant(&scope).hold_at_least(MINUTE * 9);
    let inner = inner.acquire().await.unwrap();
    outer.release().await.unwrap();
    assert!(inner.is_valid());
    inner.release().await.unwrap();
    // The scope no longer holds the lock, so an acquire in the scope does not share it.
    let again = locks.lock("k").reentrant(&scope).try_acquire().await;
    assert!(again.unwrap().is_none());
    is_taken_until(&locks, begun + MINUTE).await;
}

#[tokio::test(start_paused = true)]
async fn a_downgraded_lock_keeps_the_writers_minimum_hold_time() {
    let locks = LockManager::in_process();
    let begun = Instant::now();
    let writer = minute(&locks).acquire().await.unwrap();
    sleep(SECOND * 20).await;
    let reader = writer.downgrade().await.unwrap();
    reader.release().await.unwrap();
    let other = locks.rw_lock("k").read().try_acquire().await.unwrap();
    other.unwrap().release().await.unwrap();
    is_taken_until(&locks, begun + MINUTE).await;
}

#[tokio::test(start_paused = true)]
async fn the_minimum_of_a_set_counts_from_its_last_lock_even_after_a_crash() {
    for crashes in [false, true] {
        let world = InProcess::new();
        let other = LockManager::new(world.clone());
        let crashed = Arc::new(AtomicBool::new(false));
        let is_crashed = Arc::clone(&crashed);
        let locks = LockManager::new(Faulty::new(world, move |_call| {
            match is_crashed.load(Ordering::SeqCst) {
                true => Fault::Fail,
                false => Fault::None,
            }
        }));
        let held = other.lock("l").acquire().await.unwrap();
        let set = locks.lock_all(["k", "l"]).hold_at_least(MINUTE);
        let waiting = tokio::spawn(set.ttl(SECOND).acquire());
        // The first lock was renewed 10 s before the set is complete.
        sleep(SECOND * 50).await;
        held.release().await.unwrap();
        let guard = waiting.await.unwrap().unwrap();
        let acquired = Instant::now();
        crashed.store(crashes, Ordering::SeqCst);
        drop(guard);
        is_taken_until(&other, acquired + MINUTE).await;
        assert!(other.inspect("l").await.unwrap().is_free());
    }
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_lock_set_leaves_no_lock_taken() {
    let locks = LockManager::in_process();
    let _held = locks.lock("l").acquire().await.unwrap();
    let set = || locks.lock_all(["k", "l"]).hold_at_least(MINUTE);
    assert!(set().try_acquire().await.unwrap().is_none());
    assert!(!is_taken(&locks).await);
    let timed_out = set().wait(SECOND).acquire().await;
    assert!(matches!(timed_out, Err(Error::TimedOut { .. })));
    assert!(!is_taken(&locks).await);
}

#[tokio::test(start_paused = true)]
async fn a_hold_at_least_out_of_bounds_is_refused_by_name() {
    let locks = LockManager::in_process();
    for value in [Duration::ZERO, MAX_TTL + SECOND] {
        let single = locks.lock("k").hold_at_least(value).try_acquire().await;
        let set = locks.lock_all(["k"]).hold_at_least(value).try_acquire();
        for refused in [single.err(), set.await.err()] {
            let Some(Error::Option(
                InvalidOption::TooShort { option, .. } | InvalidOption::TooLong { option, .. },
            )) = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!(option, "hold_at_least");
        }
    }
    let longest = locks.lock("k").hold_at_least(MAX_TTL);
    assert!(longest.try_acquire().await.unwrap().is_some());
}
