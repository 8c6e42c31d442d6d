//! A body that a lock runs, from the acquire to the release, for each way in which the two can end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::pending;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{AcquireError, Error, LockHandle, LockManager, LossReason, LostInBody};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

const HOLD: Duration = Duration::from_secs(10);

async fn is_free(locks: &LockManager) -> bool {
    locks.inspect("k").await.unwrap().is_free()
}

async fn until_free(locks: &LockManager) {
    while !is_free(locks).await {
        yield_now().await;
    }
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
        lock.token()
    });
    let first = under.await.unwrap();
    assert!(is_free(&locks).await);
    // By tasks of their own, and by a closure that answers a future.
    let second = locks.lock("k").run(async |lock| lock.token());
    let second = tokio::spawn(second).await.unwrap().unwrap();
    let third = |lock: LockHandle| async move { lock.token() };
    let third = tokio::spawn(locks.lock("k").run(third)).await.unwrap();
    assert!(first < second && second < third.unwrap());
    let error = locks.lock("k").run(async |_lock| Err::<(), _>("its own"));
    assert_eq!(error.await.unwrap(), Err("its own"));
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_lock_is_not_acquired_does_not_begin() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let once = locks.lock("k").wait(Duration::ZERO);
    let refused = once.run(async |_lock| panic!("it began")).await;
    let refused: Result<(), _> = refused;
    assert!(matches!(
        refused,
        Err(Error::Acquire(AcquireError::TimedOut { .. }))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_its_own_lock_is_told() {
    let locks = LockManager::in_process();
    let nested = async |_lock| locks.lock("k").acquire().await.map(drop);
    let answer = locks.lock("k").run(nested).await.unwrap();
    assert!(matches!(answer, Err(AcquireError::AlreadyHeld { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_loss_drops_the_body_where_it_stands() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let lock = locks.lock("k").max_hold(HOLD);
    let lost = loss(lock.run(async |_lock| pending::<()>().await).await);
    assert_eq!(
        (lost.completed, lost.lost.reason),
        (false, LossReason::MaxHold)
    );
    assert_eq!(started.elapsed(), HOLD);
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_in_the_last_step_is_an_error_too() {
    let locks = LockManager::in_process();
    let forced = async |_lock| locks.force_release("k").await.unwrap();
    let lost = loss(locks.lock("k").run(forced).await);
    assert_eq!((lost.completed, lost.lost.reason), (true, LossReason::Gone));

    let both = locks.lock_all(["j", "k"]);
    let forced = async |_locks| locks.force_release("k").await.unwrap();
    let lost = loss(both.run(forced).await);
    assert_eq!((lost.completed, lost.lost.key.name()), (true, "k"));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_not_confirmed_takes_nothing_from_a_body() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::Fail,
        _ => Fault::None,
    }));
    assert_eq!(locks.lock("k").run(async |_lock| 7).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn who_drops_it_gives_the_lock_back() {
    let locks = LockManager::in_process();
    {
        let lock = locks.lock("k");
        let mut running = Box::pin(lock.run(async |_lock| pending::<()>().await));
        assert!(running.as_mut().now_or_never().is_none());
        assert!(!is_free(&locks).await);
    }
    until_free(&locks).await;
}

#[tokio::test(start_paused = true)]
async fn several_locks_have_one_body() {
    let locks = LockManager::in_process();
    let both = locks.lock_all(["j", "k"]);
    let keys = both.run(async |both| {
        assert!(!is_free(&locks).await && both.is_valid());
        both.keys().map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(keys.await.unwrap(), ["j", "k"]);
    assert!(is_free(&locks).await);
}
