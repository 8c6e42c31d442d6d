use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use tokio::time::timeout;

use crate::rules::tools::{KEY, Scene, settle};

/// Drops the acquire while its first request is in flight.
async fn dropped_during_the_first_request(fault: Fault) -> Scene {
    let scene = Scene::new(move |command, nth| match (command, nth) {
        (Command::Attempt, 1) => fault,
        _ => Fault::None,
    });
    let acquire = scene.locks.lock(KEY).acquire();
    assert!(timeout(Duration::from_millis(10), acquire).await.is_err());
    settle().await;
    scene
}

#[tokio::test(start_paused = true)]
async fn a_grant_to_a_dropped_acquire_is_undone() {
    let scene = dropped_during_the_first_request(Fault::HangAfter).await;
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_been_sent_is_cleaned_up() {
    let scene = dropped_during_the_first_request(Fault::HangBefore).await;
    let sent = scene.log.owners(Command::Attempt);
    assert_eq!(scene.log.owners(Command::Cleanup), sent);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_is_repeated_until_it_is_confirmed() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Attempt, 1) => Fault::HangAfter,
        (Command::Cleanup, 1) => Fault::Fail,
        (Command::Cleanup, 2) => Fault::HangBefore,
        (Command::Cleanup, 3) => Fault::Panic,
        _ => Fault::None,
    });
    let acquire = scene.locks.lock(KEY).acquire();
    assert!(timeout(Duration::from_millis(10), acquire).await.is_err());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(scene.log.count(Command::Cleanup), 4);
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_does_not_block_the_lock() {
    let scene = Scene::calm();
    let guard = scene.other().lock(KEY).acquire().await.unwrap();
    let acquire = scene.locks.lock(KEY).acquire();
    assert!(timeout(Duration::from_secs(5), acquire).await.is_err());
    guard.release().await.unwrap();
    settle().await;
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_busy_or_unapplied_attempt_needs_no_cleanup() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Attempt, 2) => Fault::Fail,
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    assert!(scene.locks.lock(KEY).try_acquire().await.is_err());
    assert!(scene.locks.lock(KEY).try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    settle().await;
    assert_eq!(scene.log.count(Command::Cleanup), 0);
}
