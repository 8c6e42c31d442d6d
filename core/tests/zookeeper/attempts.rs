//! One attempt in two sessions: what a session that is over has left on the server is not taken for what the next one
//! has.

use std::time::Duration;

use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim};
use leasehold::{Key, LockManager, OwnerId};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use tokio::time::{Instant, sleep, timeout};

use crate::server::{SOON, alone, becomes_free, connect, take};

/// A session, one that is opened when it seems to be over, and others.
struct Scene {
    before: ZooKeeper,
    proxy: Proxy,
    /// Through the proxy.
    after: ZooKeeper,
    other: LockManager,
    /// The same in both sessions.
    attempt: Attempt,
}

impl Scene {
    async fn new() -> Self {
        let server = alone().await;
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let key = format!("two_sessions:{}", OwnerId::random());
        let key = Key::new("lock:", &key).unwrap();
        Self {
            before: connect(&server.address()).await,
            after: connect(&format!("127.0.0.1:{}", proxy.port())).await,
            proxy,
            other: LockManager::new(connect(&server.address()).await),
            attempt: Attempt::new(key, Duration::from_secs(60), true),
        }
    }

    fn key(&self) -> &str {
        self.attempt.key.name()
    }

    /// Until so many hold and so many wait.
    async fn becomes(&self, holders: usize, waiting: usize) {
        let begun = Instant::now();
        loop {
            let seen = self.other.inspect(self.key()).await.unwrap();
            if (seen.holders, seen.waiting) == (holders, waiting) {
                return;
            }
            assert!(begun.elapsed() < SOON, "{seen:?}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// The second session's turn comes.
    async fn takes(&self) -> Claim {
        let granted = async {
            loop {
                let answer = self.after.attempt(&self.attempt).await.unwrap();
                if let AttemptAnswer::Granted { token, .. } = answer {
                    return self.attempt.claim(token);
                }
                self.after.wait(&self.attempt).await.unwrap();
            }
        };
        timeout(SOON, granted).await.unwrap()
    }

    /// A second session of the attempt, which waits behind what the first has.
    async fn is_busy(&self) {
        let answer = self.after.attempt(&self.attempt).await.unwrap();
        assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn a_place_of_a_session_before_is_not_taken_for_ones_own() {
    let scene = Scene::new().await;
    let first = take(&scene.before, &scene.attempt).await;
    let next = tokio::spawn(scene.other.lock(scene.key()).acquire());
    scene.becomes(1, 1).await;
    scene.is_busy().await;

    scene.before.release(&first).await.unwrap();
    let next = timeout(SOON, next).await.unwrap().unwrap().unwrap();
    scene.is_busy().await;
    assert!(next.is_valid());
    let next_token = next.token();
    next.release().await.unwrap();

    let last = scene.takes().await;
    assert!(first.token < next_token && next_token < last.token);
    scene.after.release(&last).await.unwrap();
    becomes_free(&scene.other, scene.key(), SOON).await;
}

#[tokio::test]
async fn a_place_whose_making_was_not_answered_is_found_behind_one_of_a_session_before() {
    let scene = Scene::new().await;
    let first = take(&scene.before, &scene.attempt).await;
    scene.proxy.set(Direction::ToClient, Traffic::Drop);
    tokio::select! {
        answer = scene.after.attempt(&scene.attempt) => panic!("{answer:?}"),
        () = scene.becomes(1, 1) => {}
    }
    scene.proxy.pass();
    scene.proxy.cut();
    let cleaned_up = async { while scene.after.cleanup(&scene.attempt).await.is_err() {} };
    timeout(SOON, cleaned_up).await.unwrap();
    scene.becomes(1, 0).await;
    scene.before.release(&first).await.unwrap();
    becomes_free(&scene.other, scene.key(), SOON).await;
}

#[tokio::test]
async fn whoever_cleans_up_for_others_leaves_nothing_of_any_session() {
    let scene = Scene::new().await;
    take(&scene.before, &scene.attempt).await;
    scene.is_busy().await;
    scene.becomes(1, 1).await;
    let third = connect(&alone().await.address()).await;
    third.cleanup(&scene.attempt).await.unwrap();
    let seen = scene.other.inspect(scene.key()).await.unwrap();
    assert!(seen.is_free(), "{seen:?}");
}
