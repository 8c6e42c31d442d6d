//! How a call ends, for each way in which its body and its lock can end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::error::Error as _;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, FencingToken, LockManager, LostInBody, distributed_lock};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("sold out")]
    SoldOut,
    #[error(transparent)]
    Lock(#[from] Error),
}

async fn is_free(locks: &LockManager) -> bool {
    locks.inspect("k").await.unwrap().token.is_none()
}

#[distributed_lock("k", manager = locks)]
async fn work<T>(locks: &LockManager, body: impl Future<Output = T>) -> Result<T, ShopError> {
    assert!(!is_free(locks).await, "a body runs under its lock");
    Ok(body.await)
}

#[distributed_lock("k", manager = locks)]
async fn fails(locks: &LockManager, error: ShopError) -> Result<(), ShopError> {
    Err(error)?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn call_releases_its_lock_before_it_returns() {
    let locks = LockManager::in_process();
    assert_eq!(work(&locks, async { 1 }).await.unwrap(), 1);
    assert!(is_free(&locks).await);
    let failed = fails(&locks, ShopError::SoldOut).await;
    assert!(matches!(failed, Err(ShopError::SoldOut)));
    assert!(is_free(&locks).await);
}

#[distributed_lock("k", manager = locks, contended = "skip", hold_at_least = "1m")]
async fn nightly(locks: &LockManager) -> Result<Option<()>, Error> {
    Ok(Some(()))
}

#[distributed_lock("k", "l", manager = locks, wait = "0s", hold_at_least = minimum)]
async fn of_two_keys(locks: &LockManager, minimum: Duration) -> Result<(), Error> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn hold_at_least_keeps_the_lock_held_after_a_short_call() {
    let (locks, minute) = (LockManager::in_process(), Duration::from_secs(60));
    for _ in 0..2 {
        assert_eq!(nightly(&locks).await.unwrap(), Some(()));
        sleep(minute - Duration::from_millis(1)).await;
        assert_eq!(nightly(&locks).await.unwrap(), None);
        sleep(Duration::from_millis(3)).await;
    }
    for _ in 0..2 {
        of_two_keys(&locks, minute * 2).await.unwrap();
        sleep(minute * 2 - Duration::from_millis(1)).await;
        for key in ["k", "l"] {
            assert!(locks.lock(key).try_acquire().await.unwrap().is_none());
        }
        sleep(Duration::from_millis(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_releases_in_the_background() {
    let locks = LockManager::in_process();
    let mut call = Box::pin(work(&locks, pending::<()>()));
    assert!(call.as_mut().now_or_never().is_none());
    assert!(!is_free(&locks).await);
    drop(call);
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_body_releases_in_the_background() {
    let locks = LockManager::in_process();
    let call = work(&locks, async { panic!("planned") });
    let caught = AssertUnwindSafe(call).catch_unwind().await;
    assert!(caught.is_err());
    until_free(&locks).await;
}

async fn until_free(locks: &LockManager) {
    let started = Instant::now();
    while !is_free(locks).await {
        yield_now().await;
        assert_eq!(
            started.elapsed(),
            Duration::ZERO,
            "not before the lease ends"
        );
    }
}

#[distributed_lock("k", manager = locks, wait = wait, guard = lock)]
async fn quick(locks: &LockManager, wait: Duration) -> Result<FencingToken, Error> {
    Ok(lock.token())
}

#[distributed_lock("k", manager = locks, wait = "0s")]
async fn one_try(locks: &LockManager) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", manager = locks, contended = "skip")]
async fn skips(locks: &LockManager) -> Result<Option<u32>, Error> {
    Ok(Some(1))
}

#[distributed_lock("k", manager = locks, contended = "skip", wait = "5s")]
async fn skips_after_a_while(locks: &LockManager) -> Result<(), Error> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_busy_lock_is_an_error_or_a_skipped_call() {
    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    let started = Instant::now();
    let waited = |call: Result<(), Error>| match call {
        Err(Error::TimedOut { waited, .. }) => waited,
        other => panic!("{other:?}"),
    };
    assert_eq!(waited(one_try(&locks).await), Duration::ZERO);
    assert_eq!(skips(&locks).await.unwrap(), None);
    assert_eq!(started.elapsed(), Duration::ZERO);
    skips_after_a_while(&locks).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let wait = Duration::from_secs(3);
    assert_eq!(waited(quick(&locks, wait).await.map(drop)), wait);

    // Wait until the timed-out waiters have left the queue. Otherwise the release would grant the lock to one of them.
    while locks.inspect("k").await.unwrap().waiting > 0 {
        yield_now().await;
    }
    guard.release().await.unwrap();
    assert_eq!(skips(&locks).await.unwrap(), Some(1));
    let token = quick(&locks, wait).await.unwrap();
    assert!(quick(&locks, wait).await.unwrap() > token);
}

#[tokio::test(start_paused = true)]
async fn failed_acquire_is_an_error_and_the_body_does_not_run() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Attempt => Fault::Fail,
        _ => Fault::None,
    }));
    let refused = work(&locks, async { panic!("without its lock") }).await;
    let outage = |error: &Error| matches!(error, Error::Backend { .. });
    assert!(matches!(refused, Err(ShopError::Lock(error)) if outage(&error)));
    assert!(skips(&locks).await.is_err_and(|error| outage(&error)));
}

#[distributed_lock("k")]
async fn with_the_current_manager() -> Result<(), Error> {
    Ok(())
}

#[tokio::test]
async fn call_without_a_manager_is_an_error() {
    let refused = with_the_current_manager().await;
    assert!(matches!(refused, Err(Error::NoManager)));
    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut waiting = Box::pin(locks.as_default(with_the_current_manager()));
    assert!(waiting.as_mut().now_or_never().is_none());
    guard.release().await.unwrap();
    waiting.await.unwrap();
}

/// Runs for `time` seconds under a lock that is lost after 10 s.
#[distributed_lock("k", manager = locks, max_hold = "10s", lost = "cancel")]
async fn cancelled(
    locks: &LockManager,
    time: u64,
    own: Result<u64, ShopError>,
) -> Result<u64, ShopError> {
    sleep(Duration::from_secs(time)).await;
    own
}

#[distributed_lock("k", manager = locks, max_hold = "10s", lost = "continue")]
async fn finished(
    locks: &LockManager,
    time: u64,
    own: Result<u64, ShopError>,
) -> Result<u64, ShopError> {
    sleep(Duration::from_secs(time)).await;
    own
}

fn loss(answer: Result<u64, ShopError>) -> LostInBody {
    match answer {
        Err(ShopError::Lock(Error::LostInBody(lost))) => lost,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn loss_drops_the_body_and_is_returned_as_not_completed() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    assert_eq!(cancelled(&locks, 9, Ok(1)).await.unwrap(), 1);
    let lost = loss(cancelled(&locks, 3600, Ok(1)).await);
    assert_eq!(started.elapsed(), Duration::from_secs(19));
    assert!(!lost.completed);
    assert_eq!(
        (lost.lost.reason, lost.lost.key.name()),
        (EndReason::MaxHold, "k")
    );
    assert_eq!(
        lost.to_string(),
        "the body was dropped before it completed, because its lock on `k` was lost: it was held for `max_hold`"
    );
    assert_eq!(lost.source().unwrap().to_string(), lost.lost.to_string());
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn lost_continue_completes_the_body_and_returns_the_loss() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let lost = loss(finished(&locks, 60, Ok(1)).await);
    assert_eq!(started.elapsed(), Duration::from_secs(60));
    assert!(lost.completed);
    assert_eq!(
        lost.to_string(),
        "the body completed, but its lock on `k` was lost before the end: it was held for `max_hold`"
    );
    assert_eq!(finished(&locks, 9, Ok(1)).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn error_of_the_body_is_returned_instead_of_a_loss() {
    let locks = LockManager::in_process();
    let own = finished(&locks, 60, Err(ShopError::SoldOut)).await;
    assert!(matches!(own, Err(ShopError::SoldOut)));
}

/// Completes in the same poll in which its lock is lost.
#[distributed_lock("k", manager = locks, guard = lock)]
async fn loses_in_its_last_step(
    locks: &LockManager,
    own: Result<u64, ShopError>,
) -> Result<u64, ShopError> {
    locks.force_release(lock.key()).await?;
    own
}

#[tokio::test(start_paused = true)]
async fn loss_in_the_last_poll_is_returned_as_completed() {
    let locks = LockManager::in_process();
    let lost = loss(loses_in_its_last_step(&locks, Ok(1)).await);
    assert!(lost.completed);
    assert_eq!(lost.lost.reason, EndReason::Gone);
    let own = loses_in_its_last_step(&locks, Err(ShopError::SoldOut)).await;
    assert!(matches!(own, Err(ShopError::SoldOut)));
}

#[tokio::test(start_paused = true)]
async fn unconfirmed_release_does_not_change_the_result_of_the_body() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::Fail,
        _ => Fault::None,
    }));
    assert_eq!(cancelled(&locks, 1, Ok(1)).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn call_with_a_lost_lock_does_not_wait_for_a_failing_release() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release | Command::Renew => Fault::Fail,
        _ => Fault::None,
    }));
    let started = Instant::now();
    let lost = loss(finished(&locks, 60, Ok(1)).await);
    assert_eq!(lost.lost.reason, EndReason::MaxHold);
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[distributed_lock("k", manager = locks, ttl = "2s")]
async fn short(locks: &LockManager, started: Instant) -> Result<Duration, ShopError> {
    let () = pending().await;
    Ok(started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn ttl_option_sets_the_ttl_of_the_lease() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Renew => Fault::Fail,
        _ => Fault::None,
    }));
    let started = Instant::now();
    let answer = short(&locks, started).await;
    let lost = loss(answer.map(|_| 0));
    assert_eq!(lost.lost.reason, EndReason::Expired);
    let held = started.elapsed();
    assert!(
        held > Duration::from_secs(1) && held < Duration::from_secs(2),
        "{held:?}"
    );
}
