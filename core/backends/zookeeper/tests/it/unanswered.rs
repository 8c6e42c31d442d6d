//! Servers that keep a session alive but do not answer its requests, like version 3.8 after some changes of the leader.

use std::time::Duration;

use leasehold::{AttemptId, EndReason, Error, LockManager};
use tokio::time::{sleep, timeout};

use crate::server::{SESSION, SOON, alone, becomes_free, connect, patient, with_sessions};
use crate::unresponsive_server::Mute;

struct Scene {
    mute: Mute,
    /// Connects through the proxy that drops requests.
    locks: LockManager,
    /// Connects directly.
    other: LockManager,
}

impl Scene {
    async fn new() -> Self {
        let server = alone().await;
        let mute = Mute::before(server.port()).await;
        let address = format!("127.0.0.1:{}", mute.port());
        Self {
            locks: LockManager::new(with_sessions(SESSION, &address).await),
            other: patient().build(connect(&server.address()).await).unwrap(),
            mute,
        }
    }

    async fn all_connections_end(&self) {
        let mut open = self.mute.open();
        let ended = timeout(SOON, open.wait_for(|open| *open == 0));
        ended.await.expect("a connection stays").unwrap();
    }
}

fn fresh(name: &str) -> String {
    format!("{name}:{}", AttemptId::random())
}

#[tokio::test]
async fn locks_of_an_unanswered_session_are_lost_and_its_waiters_continue() {
    let scene = Scene::new().await;
    let (held, awaited) = (fresh("held"), fresh("awaited"));
    // Its acquires outlast the time in which its requests have no reply.
    let locks = LockManager::builder().backend_retry_timeout(SOON * 2);
    let address = format!("127.0.0.1:{}", scene.mute.port());
    let locks = locks.build(with_sessions(SESSION, &address).await).unwrap();
    let guard = locks.lock(&held).acquire().await.unwrap();
    let before = scene.other.lock(&awaited).acquire().await.unwrap();
    let waiter = tokio::spawn(locks.lock(&awaited).acquire());
    while scene.other.inspect(&awaited).await.unwrap().waiting == 0 {
        sleep(Duration::from_millis(5)).await;
    }

    scene.mute.set(true);
    let stuck = tokio::spawn(locks.lock(fresh("stuck")).acquire());
    let next = timeout(SOON, scene.other.lock(&held).acquire());
    let next = next.await.unwrap().unwrap();
    assert!(!guard.is_valid());
    assert!(next.token() > guard.token());
    let reason = guard.ended().await.reason;
    assert!(matches!(reason, EndReason::Expired | EndReason::Gone));
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == reason));

    scene.mute.set(false);
    before.release().await.unwrap();
    for acquire in [waiter, stuck] {
        let guard = timeout(SOON, acquire).await.unwrap().unwrap().unwrap();
        assert!(guard.is_valid());
        guard.release().await.unwrap();
    }
    becomes_free(&scene.other, &awaited, SOON).await;
}

#[tokio::test]
async fn a_shutdown_ends_an_unanswered_session() {
    let scene = Scene::new().await;
    let held = fresh("shut_down");
    let guard = scene.locks.lock(&held).acquire().await.unwrap();
    scene.mute.set(true);
    let mut stuck = Box::pin(scene.locks.lock(fresh("stuck")).acquire());
    assert!(futures_util::poll!(&mut stuck).is_pending());
    let shut_down = timeout(SOON, scene.locks.shutdown());
    // The release cannot be confirmed.
    shut_down.await.unwrap().unwrap_err();
    drop((guard, stuck));
    scene.all_connections_end().await;
    becomes_free(&scene.other, &held, SOON).await;
}

#[tokio::test]
async fn dropping_the_manager_ends_an_unanswered_session() {
    let scene = Scene::new().await;
    let held = fresh("dropped");
    let guard = scene.locks.lock(&held).acquire().await.unwrap();
    scene.mute.set(true);
    let stuck = tokio::spawn(scene.locks.lock(fresh("stuck")).acquire());
    sleep(Duration::from_millis(50)).await;
    stuck.abort();
    drop(guard);
    let Scene { mute, locks, other } = scene;
    drop(locks);
    let scene = Scene {
        mute,
        locks: other.clone(),
        other,
    };
    scene.all_connections_end().await;
    becomes_free(&scene.other, &held, SOON).await;
}
