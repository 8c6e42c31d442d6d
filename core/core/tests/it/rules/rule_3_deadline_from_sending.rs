use std::time::Duration;

use leasehold::EndReason;
use leasehold::conformance::{Command, Fault};
use tokio::time::{Instant, sleep};

use crate::rules::tools::{KEY, Scene, settle};

/// The usable part of a lease of `TTL`.
const USABLE: Duration = Duration::from_millis(29_698);

#[tokio::test(start_paused = true)]
async fn a_slow_grant_does_not_lengthen_the_lease() {
    let delay = Duration::from_millis(1500);
    let scene = Scene::new(move |command, _| match command {
        Command::Attempt => Fault::SlowAnswer(delay),
        _ => Fault::None,
    });
    let guard = scene
        .locks
        .lock(KEY)
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    assert_eq!(guard.valid_for(), USABLE - delay);
}

#[tokio::test(start_paused = true)]
async fn a_slow_renewal_does_not_lengthen_the_lease() {
    let delay = Duration::from_millis(1500);
    let scene = Scene::new(move |command, _| match command {
        Command::Renew => Fault::SlowAnswer(delay),
        _ => Fault::None,
    });
    let guard = scene
        .locks
        .lock(KEY)
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    sleep(Duration::from_secs(20)).await;
    guard.renew().await.unwrap();
    assert_eq!(guard.valid_for(), USABLE - delay);
}

#[tokio::test(start_paused = true)]
async fn the_lease_counts_from_the_request_that_was_answered() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Attempt, 1) => Fault::HangAfter,
        _ => Fault::None,
    });
    let started = Instant::now();
    let guard = scene
        .locks
        .lock(KEY)
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    assert!(
        started.elapsed() > Duration::from_secs(2),
        "the first copy timed out"
    );
    assert_eq!(guard.valid_for(), USABLE);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_after_its_lease_is_retried_with_a_new_id() {
    let ttl = Duration::from_millis(100);
    // Longer than the usable part of the lease, and shorter than the lease.
    let delay = Duration::from_millis(98);
    let scene = Scene::new(move |command, nth| match (command, nth) {
        (Command::Attempt, 1) => Fault::SlowAnswer(delay),
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).ttl(ttl).acquire().await.unwrap();
    settle().await;
    let attempts = scene.log.owners(Command::Attempt);
    assert_ne!(
        attempts.first(),
        attempts.last(),
        "a spent id is not used again"
    );
    assert!(guard.is_valid());
    assert_eq!(scene.log.owners(Command::Cleanup), attempts[..1]);
}

#[tokio::test(start_paused = true)]
async fn past_its_deadline_a_guard_is_lost_whatever_the_backend_reports() {
    let scene = Scene::calm();
    let guard = scene
        .locks
        .lock(KEY)
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    sleep(USABLE).await;
    assert!(!guard.is_valid());
    // The backend still holds the lock, and would extend it.
    assert!(!scene.is_free().await);
    assert!(guard.renew().await.is_err());
    assert!(!guard.is_valid());
    assert_eq!(guard.ended().await.reason, EndReason::Expired);
    assert_eq!(scene.log.count(Command::Renew), 0);
}
