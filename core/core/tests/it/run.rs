//! `run` acquires a lock, runs a body and releases the lock. These tests end the body and the lock in each possible
//! way.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, LockHandle, LockManager, LostInBody};
use tokio::time::{Instant, sleep};

/// An error type of the caller, with the required `From`.
#[derive(Debug, thiserror::Error)]
enum OwnError {
    #[error("its own")]
    Own,
    #[error(transparent)]
    Lock(#[from] Error),
}

const HOLD: Duration = Duration::from_secs(10);

async fn is_free(locks: &LockManager) -> bool {
    locks.inspect("k").await.unwrap().is_free()
}

async fn until_free(locks: &LockManager) {
    for _ in 0..1_000 {
        if is_free(locks).await {
            return;
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("it is not released in the background");
}

/// Returns the result of a body that does not fail.
fn fine<T>(value: T) -> Result<T, Error> {
    Ok(value)
}

fn loss<T: std::fmt::Debug>(answer: Result<T, Error>) -> LostInBody {
    match answer {
        Err(Error::LostInBody(lost)) => lost,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn run_holds_the_lock_exactly_while_its_body_runs() {
    let locks = LockManager::in_process();
    let others = locks.clone();
    let under = locks.lock("k").run(async |lock| {
        assert!(!is_free(&others).await);
        sleep(HOLD).await;
        assert!(!is_free(&others).await && lock.is_valid());
        fine(lock.token())
    });
    let first = under.await.unwrap();
    assert!(is_free(&locks).await);
    // The calls run in separate tasks, and one closure returns a future.
    let second = locks.lock("k").run(async |lock| fine(lock.token()));
    let second = tokio::spawn(second).await.unwrap().unwrap();
    let third = |lock: LockHandle| async move { fine(lock.token()) };
    let third = tokio::spawn(locks.lock("k").run(third)).await.unwrap();
    assert!(first < second && second < third.unwrap());
    let error = locks
        .lock("k")
        .run(async |_lock| Err::<(), _>(OwnError::Own));
    assert!(matches!(error.await, Err(OwnError::Own)));
}

#[tokio::test(start_paused = true)]
async fn run_does_not_start_its_body_without_the_lock() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let once = locks.lock("k").wait(Duration::ZERO);
    let refused = once.run(async |_lock| panic!("it began")).await;
    let refused: Result<(), _> = refused;
    assert!(matches!(refused, Err(Error::TimedOut { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_acquires_its_own_lock_gets_already_held() {
    let locks = LockManager::in_process();
    let nested = async |_lock| locks.lock("k").acquire().await.map(drop);
    let answer = locks.lock("k").run(nested).await;
    assert!(matches!(answer, Err(Error::AlreadyHeld { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_loss_drops_the_running_body() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let lock = locks.lock("k").max_hold(HOLD);
    let lost = loss(
        lock.run(async |_lock| pending::<Result<(), Error>>().await)
            .await,
    );
    assert_eq!(
        (lost.completed, lost.lost.reason),
        (false, EndReason::MaxHold)
    );
    assert_eq!(started.elapsed(), HOLD);
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_in_the_last_poll_of_a_body_is_an_error() {
    let locks = LockManager::in_process();
    let forced = async |_lock| locks.force_release("k").await;
    let lost = loss(locks.lock("k").run(forced).await);
    assert_eq!((lost.completed, lost.lost.reason), (true, EndReason::Gone));

    let both = locks.lock_all(["j", "k"]);
    let forced = async |_locks| locks.force_release("k").await;
    let lost = loss(both.run(forced).await);
    assert_eq!((lost.completed, lost.lost.key.name()), (true, "k"));
}

#[tokio::test(start_paused = true)]
async fn run_returns_the_result_of_its_body_despite_an_unconfirmed_release() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::Fail,
        _ => Fault::None,
    }));
    assert_eq!(locks.lock("k").run(async |_lock| fine(7)).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn dropping_run_releases_the_lock() {
    let locks = LockManager::in_process();
    {
        let lock = locks.lock("k");
        let mut running = Box::pin(lock.run(async |_lock| pending::<Result<(), Error>>().await));
        assert!(running.as_mut().now_or_never().is_none());
        assert!(!is_free(&locks).await);
    }
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_body_releases_the_lock() {
    let locks = LockManager::in_process();
    let body = locks.lock("k").run(async |_lock| panic!("it panics"));
    let panicked: Result<Result<(), Error>, _> = AssertUnwindSafe(body).catch_unwind().await;
    assert!(panicked.is_err());
    until_free(&locks).await;
}

/// A body that records whether its lock is held when it is dropped.
struct Dropped(LockHandle, Arc<AtomicBool>);

impl Future for Dropped {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.1.store(self.0.is_valid(), Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_dropped_before_its_lock_is_released() {
    let locks = LockManager::in_process();
    let had_it = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&had_it);
    let body = |lock: LockHandle| Dropped(lock, noted);
    locks.lock("k").run(body).await.unwrap();
    assert!(had_it.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn run_works_with_read_locks_and_permits() {
    let locks = LockManager::in_process();
    let reader = locks.rw_lock("k").read().run(async |lock| {
        let other = locks.rw_lock("k").read().try_acquire().await.unwrap();
        fine(lock.is_valid() && other.is_some())
    });
    assert!(reader.await.unwrap());
    let one = locks.semaphore("n", 2);
    let permits = one.run(async |lock| fine(lock.permits())).await;
    assert_eq!(permits.unwrap(), 1);
}

/// A function can lend values to a body, and its future can still be spawned.
async fn lends(locks: LockManager) -> Result<usize, Error> {
    let order = String::from("42");
    locks.lock("k").run(async |_lock| Ok(order.len())).await
}

#[tokio::test]
async fn a_function_whose_body_borrows_its_locals_can_be_spawned() {
    let task = tokio::spawn(lends(LockManager::in_process()));
    assert_eq!(task.await.unwrap().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn run_of_a_lock_set_holds_all_locks_during_the_body() {
    let locks = LockManager::in_process();
    let both = locks.lock_all(["j", "k"]);
    let keys = both.run(async |both| {
        assert!(!is_free(&locks).await && both.is_valid());
        fine(both.keys().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(keys.await.unwrap(), ["j", "k"]);
    assert!(is_free(&locks).await);
}
