use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use leasehold::{EndReason, Error, Lost};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};

use crate::rules::tools::{KEY, Scene, TTL, settle};

fn without_renewals() -> Scene {
    Scene::new(|command, _| match command {
        Command::Renew => Fault::Fail,
        _ => Fault::None,
    })
}

#[tokio::test(start_paused = true)]
async fn every_watcher_receives_the_reason_of_the_loss() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let handle = guard.handle();
    let watchers: Vec<_> = (0..3).map(|_| tokio::spawn(handle.ended())).collect();
    for watcher in watchers {
        let lost = watcher.await.unwrap();
        assert_eq!(
            (lost.reason, lost.token),
            (EndReason::Expired, Some(guard.token()))
        );
    }
    assert!(!handle.is_valid());
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_loss_before_the_deadline_is_reported_immediately() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let watcher = tokio::spawn(guard.ended());
    settle().await;
    let started = Instant::now();
    guard.simulate_loss();
    let lost = watcher.await.unwrap();
    assert_eq!(lost.reason, EndReason::Expired);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_release_of_a_lost_lock_does_not_wait_for_the_backend() {
    let scene = Scene::new(|command, _| match command {
        Command::Release => Fault::HangBefore,
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    guard.simulate_loss();
    let started = Instant::now();
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
    assert_eq!(started.elapsed(), Duration::ZERO);
}

struct CountsItsDrop(Arc<AtomicU32>);

impl Drop for CountsItsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An error type of the caller, with the required `From`.
#[derive(Debug, thiserror::Error)]
enum OwnError {
    #[error("out of stock")]
    OutOfStock,
    #[error(transparent)]
    Lock(#[from] Error),
}

fn loss<T: std::fmt::Debug>(answer: Result<T, Error>) -> Lost {
    match answer {
        Err(Error::Lost(lost)) => lost,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn run_drops_its_body_before_it_returns() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let drops = Arc::new(AtomicU32::new(0));
    let in_body = CountsItsDrop(Arc::clone(&drops));
    let run = guard.run(async move |_| {
        let _in_body = in_body;
        pending::<Result<(), Error>>().await
    });
    let mut run = std::pin::pin!(run);
    let lost = loss(run.as_mut().await);
    // The future itself is not dropped yet.
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(lost.reason, EndReason::Expired);
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_past_the_deadline_the_body_is_not_polled_again() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let mut steps = 0;
    let lost = guard.run(async |_| {
        steps += 1;
        // Simulates a process that is stopped here, while the body is ready to continue.
        advance(TTL * 2).await;
        steps += 1;
        yield_now().await;
        steps += 1;
        Ok::<_, Error>(())
    });
    assert_eq!(loss(lost.await).reason, EndReason::Expired);
    assert_eq!(steps, 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_dropped_at_the_deadline() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let valid_for = guard.valid_for();
    let started = Instant::now();
    let lost = guard
        .run(async |_| {
            sleep(TTL * 10).await;
            Ok::<_, Error>(())
        })
        .await;
    assert!(lost.is_err());
    assert!(started.elapsed() - valid_for <= Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_loss_does_not_hide_the_error_of_the_body() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let own = guard
        .run(async |_| Err::<(), _>(OwnError::OutOfStock))
        .await;
    assert!(matches!(own, Err(OwnError::OutOfStock)), "{own:?}");

    // The lock is lost in the poll in which the body completes. `run` returns the body's error, and the release reports
    // the loss.
    let own = guard
        .run(async |_| {
            guard.simulate_loss();
            Err::<(), _>(OwnError::OutOfStock)
        })
        .await;
    assert!(matches!(own, Err(OwnError::OutOfStock)), "{own:?}");
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_handle_reports_that_its_guard_was_dropped() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let (handle, token) = (guard.handle(), guard.token());
    drop(guard);
    assert!(!handle.is_valid());
    assert_eq!(handle.ended().await.reason, EndReason::Released);
    assert_eq!((handle.key(), handle.token()), (KEY, token));
}
