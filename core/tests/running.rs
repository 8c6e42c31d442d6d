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
async fn a_body_has_its_lock_from_its_first_step_to_its_last_and_no_longer() {
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
async fn a_body_whose_lock_is_not_acquired_does_not_begin() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let once = locks.lock("k").wait(Duration::ZERO);
    let refused = once.run(async |_lock| panic!("it began")).await;
    let refused: Result<(), _> = refused;
    assert!(matches!(refused, Err(Error::TimedOut { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_its_own_lock_is_told() {
    let locks = LockManager::in_process();
    let nested = async |_lock| locks.lock("k").acquire().await.map(drop);
    let answer = locks.lock("k").run(nested).await;
    assert!(matches!(answer, Err(Error::AlreadyHeld { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_loss_drops_the_body_where_it_stands() {
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
async fn a_loss_in_the_last_step_is_an_error_too() {
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
async fn a_release_that_is_not_confirmed_takes_nothing_from_a_body() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::Fail,
        _ => Fault::None,
    }));
    assert_eq!(locks.lock("k").run(async |_lock| fine(7)).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn who_drops_it_gives_the_lock_back() {
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
async fn a_body_that_panics_gives_the_lock_back() {
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
async fn a_body_is_dropped_under_its_lock() {
    let locks = LockManager::in_process();
    let had_it = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&had_it);
    let body = |lock: LockHandle| Dropped(lock, noted);
    locks.lock("k").run(body).await.unwrap();
    assert!(had_it.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn readers_and_permits_run_bodies_too() {
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
async fn a_function_that_lends_to_a_body_can_be_spawned() {
    let task = tokio::spawn(lends(LockManager::in_process()));
    assert_eq!(task.await.unwrap().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn several_locks_have_one_body() {
    let locks = LockManager::in_process();
    let both = locks.lock_all(["j", "k"]);
    let keys = both.run(async |both| {
        assert!(!is_free(&locks).await && both.is_valid());
        fine(both.keys().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(keys.await.unwrap(), ["j", "k"]);
    assert!(is_free(&locks).await);
}
