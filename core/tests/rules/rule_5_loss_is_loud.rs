use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use leasehold::{LossReason, ReleaseOutcome};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};

use crate::tools::{KEY, Scene, TTL, settle};

fn without_renewals() -> Scene {
    Scene::new(|command, _| match command {
        Command::Renew => Fault::Fail,
        _ => Fault::None,
    })
}

#[tokio::test(start_paused = true)]
async fn everybody_who_watches_is_told_the_reason() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let handle = guard.handle();
    let watchers: Vec<_> = (0..3).map(|_| tokio::spawn(handle.lost())).collect();
    for watcher in watchers {
        let lost = watcher.await.unwrap();
        assert_eq!(
            (lost.reason, lost.token),
            (LossReason::Expired, Some(guard.token()))
        );
    }
    assert!(!handle.is_valid());
    let outcome = guard.release().await.unwrap();
    assert_eq!(outcome, ReleaseOutcome::AlreadyLost(LossReason::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_loss_before_the_deadline_is_told_at_once() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let watcher = tokio::spawn(guard.lost());
    settle().await;
    let started = Instant::now();
    guard.simulate_loss();
    let lost = watcher.await.unwrap();
    assert_eq!(lost.reason, LossReason::Expired);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

struct CountsItsDrop(Arc<AtomicU32>);

impl Drop for CountsItsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn run_drops_its_body_before_it_answers() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let drops = Arc::new(AtomicU32::new(0));
    let in_body = CountsItsDrop(Arc::clone(&drops));
    let run = guard.run(async move {
        let _in_body = in_body;
        pending::<()>().await;
    });
    let mut run = std::pin::pin!(run);
    let lost = run.as_mut().await.unwrap_err();
    // The future itself still lives.
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(lost.reason, LossReason::Expired);
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_past_the_deadline_the_body_takes_no_further_step() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let mut steps = 0;
    let lost = guard.run(async {
        steps += 1;
        // A process that is stopped here, with the body ready to go on.
        advance(TTL * 2).await;
        steps += 1;
        yield_now().await;
        steps += 1;
    });
    assert_eq!(lost.await.unwrap_err().reason, LossReason::Expired);
    assert_eq!(steps, 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_cut_short_at_the_deadline() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let valid_for = guard.valid_for();
    let started = Instant::now();
    let lost = guard.run(sleep(TTL * 10)).await;
    assert!(lost.is_err());
    assert!(started.elapsed() - valid_for <= Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn nothing_masks_the_callers_own_error() {
    let scene = without_renewals();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let own: Result<Result<(), &str>, _> = guard.run(async { Err("out of stock") }).await;
    assert_eq!(own.unwrap(), Err("out of stock"));

    // Lost in the very step that completed: the body's word stands, the release tells the rest.
    let own: Result<Result<(), &str>, _> = guard
        .run(async {
            guard.simulate_loss();
            Err("out of stock")
        })
        .await;
    assert_eq!(own.unwrap(), Err("out of stock"));
    let outcome = guard.release().await.unwrap();
    assert_eq!(outcome, ReleaseOutcome::AlreadyLost(LossReason::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_handle_outlives_its_guard_and_says_so() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let (handle, token) = (guard.handle(), guard.token());
    drop(guard);
    assert!(!handle.is_valid());
    assert_eq!(handle.lost().await.reason, LossReason::Released);
    assert_eq!((handle.key(), handle.token()), (KEY, token));
}
