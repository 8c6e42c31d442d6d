use std::collections::HashSet;
use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use leasehold::{EndReason, Error};

use crate::rules::tools::{KEY, Scene};

#[tokio::test(start_paused = true)]
async fn every_acquire_has_its_own_id() {
    let scene = Scene::calm();
    let lock = scene.locks.lock(KEY);
    for _ in 0..10 {
        lock.clone()
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    let owners: HashSet<_> = scene.log.owners(Command::Attempt).into_iter().collect();
    assert_eq!(owners.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_request_is_the_same_acquisition() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Attempt, 1..=3) => Fault::LoseAnswer,
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let owners: HashSet<_> = scene.log.owners(Command::Attempt).into_iter().collect();
    assert_eq!((scene.log.count(Command::Attempt), owners.len()), (4, 1));
    guard.release().await.unwrap();
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_reply_is_lost_succeeds_after_a_retry() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Release, 1) => Fault::LoseAnswer,
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(scene.log.count(Command::Release), 2);
}

#[tokio::test(start_paused = true)]
async fn a_release_confirmed_after_the_deadline_returns_lost() {
    let ttl = Duration::from_millis(500);
    let scene = Scene::new(move |command, nth| match (command, nth) {
        (Command::Release, 1) => Fault::LoseAnswer,
        (Command::Release, 2) => Fault::SlowAnswer(ttl),
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).ttl(ttl).acquire().await.unwrap();
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_finds_another_holder_returns_lost() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    assert!(scene.other().force_release(KEY).await.unwrap());
    let successor = scene.other().lock(KEY).acquire().await.unwrap();
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Gone));
    successor.renew().await.unwrap();
}
