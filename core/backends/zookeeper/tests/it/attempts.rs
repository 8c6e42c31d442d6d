//! The nodes of an attempt on the server: in two sessions, without polling, and after a partial refusal.

use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, Claim};
use leasehold::{AttemptId, Error, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Acl, AuthId, Permission};

use crate::server::{
    LASTING, SESSION, SOON, alone, becomes_free, connect, patient, take, with_sessions,
};

const TTL: Duration = Duration::from_secs(60);

/// A session, a second session that replaces it, and a manager of another process.
struct Scene {
    before: ZooKeeper,
    proxy: Proxy,
    /// Connects through the proxy.
    after: ZooKeeper,
    other: LockManager,
    /// The attempt that both sessions use.
    attempt: Attempt,
}

impl Scene {
    async fn new() -> Self {
        let server = alone().await;
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let key = format!("two_sessions:{}", AttemptId::random());
        let key = Key::new("lock:", &key).unwrap();
        Self {
            before: connect(&server.address()).await,
            after: with_sessions(LASTING, &format!("127.0.0.1:{}", proxy.port())).await,
            proxy,
            other: patient().build(connect(&server.address()).await).unwrap(),
            attempt: Attempt::new(key, TTL, true),
        }
    }

    fn key(&self) -> &str {
        self.attempt.key.name()
    }

    /// Waits until the lock has this number of holders and waiters.
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

    /// Waits until the attempt is granted in the second session.
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

    /// Checks that the attempt waits in the second session behind its node of the first session.
    async fn is_busy(&self) {
        let answer = self.after.attempt(&self.attempt).await.unwrap();
        assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn a_node_of_an_earlier_session_is_not_used_as_ones_own() {
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
async fn a_cleanup_finds_an_unanswered_node_behind_one_of_an_earlier_session() {
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
async fn a_cleanup_by_another_client_deletes_the_nodes_of_all_sessions() {
    let scene = Scene::new().await;
    take(&scene.before, &scene.attempt).await;
    scene.is_busy().await;
    scene.becomes(1, 1).await;
    let third = connect(&alone().await.address()).await;
    third.cleanup(&scene.attempt).await.unwrap();
    let seen = scene.other.inspect(scene.key()).await.unwrap();
    assert!(seen.is_free(), "{seen:?}");
}

/// The caller is busy with something else, and has not dropped the attempt.
#[tokio::test]
async fn an_attempt_that_is_not_polled_ends_without_a_loss_of_other_locks() {
    // Short enough for this test, and long enough for a busy machine.
    let session = SESSION * 5;
    let scene = Scene::new().await;
    let backend = with_sessions(session, &alone().await.address()).await;
    let locks = patient().build(backend).unwrap();
    let kept = format!("kept:{}", AttemptId::random());
    let kept = locks.lock(kept).acquire().await.unwrap();
    // Create the container first, so that the first request creates a node.
    take(&scene.before, &scene.attempt).await;
    scene.before.cleanup(&scene.attempt).await.unwrap();

    // With each backend, a granted lock without a confirmation stays held for its TTL.
    let lock = locks.lock(scene.key()).ttl(Duration::from_secs(5));
    let mut acquire = pin!(lock.acquire().into_future());
    assert!(poll!(&mut acquire).is_pending());
    scene.becomes(1, 0).await;
    becomes_free(&scene.other, scene.key(), SOON).await;
    // As long as the backend waits for a session that cannot release its lock.
    sleep(session * 2).await;
    assert!(kept.is_valid());
    let guard = timeout(SOON, acquire).await.unwrap().unwrap();
    assert!(guard.is_valid() && kept.is_valid());
}

/// The server creates the node, but refuses to list the queue.
#[tokio::test]
async fn a_refusal_after_the_node_was_created_is_cleaned_up() {
    let address = alone().await.address();
    let folder = format!("half_refused-{}", AttemptId::random());
    let url = format!("zookeeper://{address}/{folder}");
    let locks = LockManager::connect(&url).await.unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    guard.release().await.unwrap();
    let admin = zookeeper_client::Client::connect(&address).await.unwrap();
    let containers = admin.list_children(&format!("/{folder}")).await.unwrap();
    let container = format!("/{folder}/{}", containers[0]);
    let blind = Acl::new(Permission::CREATE | Permission::DELETE, AuthId::anyone());
    admin.set_acl(&container, &[blind], None).await.unwrap();

    let error = locks.lock("k").ttl(TTL).try_acquire().await.unwrap_err();
    let Error::Backend { applied, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*applied, Applied::Unknown, "{error:?}");
    let begun = Instant::now();
    let nodes = async || {
        admin
            .check_stat(&container)
            .await
            .unwrap()
            .unwrap()
            .num_children
    };
    while nodes().await > 0 {
        assert!(begun.elapsed() < SOON, "it stays for its TTL");
        sleep(Duration::from_millis(5)).await;
    }
}

/// There are so many paths that a client with a watch on each of them would not survive a cut.
#[tokio::test]
async fn five_hundred_waiters_survive_a_cut_connection() {
    const CROWD: usize = 500;
    let scene = Scene::new().await;
    // All waiters repeat their requests concurrently, and each reply has 150 kB.
    let locks = patient().build(scene.after).unwrap();
    let long = format!("{}:{}", "c".repeat(300), AttemptId::random());
    let holder = scene.other.lock(&long).acquire().await.unwrap();
    let kept = locks.lock(format!("kept:{}", AttemptId::random()));
    let kept = kept.ttl(LASTING).acquire().await.unwrap();
    let mut crowd = JoinSet::new();
    for _ in 0..CROWD {
        crowd.spawn(locks.lock(&long).acquire().into_future());
    }
    let waits = async || scene.other.inspect(&*long).await.unwrap().waiting;
    while waits().await < CROWD {
        sleep(Duration::from_millis(50)).await;
    }
    scene.proxy.cut();
    holder.release().await.unwrap();
    let mut served = 0;
    while let Some(guard) = timeout(SOON * 2, crowd.join_next()).await.unwrap() {
        guard.unwrap().unwrap().release().await.unwrap();
        served += 1;
    }
    assert_eq!(served, CROWD);
    assert!(kept.is_valid());
}
