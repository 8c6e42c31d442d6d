use std::sync::LazyLock;
use std::time::Duration;

use leasehold::backend::zookeeper::{ZooKeeper, ZooKeeperBuilder};
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim, Inspection};
use leasehold::{LockManager, LockManagerBuilder};
use leasehold_testkit::servers::{ZooKeeperEnsemble, ZooKeeperServer};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Short enough for a test to wait for its end. On a busy machine, it may end earlier.
pub(crate) const SESSION: Duration = Duration::from_secs(3);

/// A session that does not end, even on a busy machine. The shared servers grant it.
pub(crate) const LASTING: Duration = Duration::from_secs(60);

/// The timeout for expected events.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Returns one server that all tests share, because starting a server takes longer than a test. No test may break it.
pub(crate) async fn alone() -> &'static ZooKeeperServer {
    static ALONE: OnceCell<ZooKeeperServer> = OnceCell::const_new();
    ALONE
        .get_or_init(async || {
            let builder = ZooKeeperServer::builder().longest_session(LASTING);
            builder.start().await.unwrap()
        })
        .await
}

/// Returns three servers for the same tests.
pub(crate) async fn three() -> &'static ZooKeeperEnsemble {
    static THREE: OnceCell<ZooKeeperEnsemble> = OnceCell::const_new();
    // The network between the servers ends with its runtime, so it has its own runtime. Each test has another one.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    let start = async || {
        // The limit is large, because busy machines are slow.
        let builder = ZooKeeperServer::builder()
            .sync_limit(50)
            .longest_session(LASTING);
        let started = spawn_blocking(|| RUNTIME.block_on(builder.start_three()));
        started.await.unwrap().unwrap()
    };
    THREE.get_or_init(start).await
}

pub(crate) async fn connect(addresses: &str) -> ZooKeeper {
    connect_with(ZooKeeper::builder(), addresses).await
}

/// Connects with sessions of this length.
pub(crate) async fn with_sessions(session: Duration, addresses: &str) -> ZooKeeper {
    connect_with(ZooKeeper::builder().session_timeout(session), addresses).await
}

async fn connect_with(builder: ZooKeeperBuilder, addresses: &str) -> ZooKeeper {
    let url = format!("zookeeper://{addresses}/locks");
    let started = Instant::now();
    loop {
        match builder.clone().connect(&url).await {
            Ok(backend) => return backend,
            // A damaged ensemble recovers after a while, and a busy server replies late.
            Err(error) => assert!(started.elapsed() < SOON, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Builds managers that wait for the replies of a busy machine.
pub(crate) fn patient() -> LockManagerBuilder {
    LockManager::builder()
        .command_timeout(Duration::from_secs(20))
        .backend_retry_timeout(SOON)
}

/// Connects with short sessions.
pub(crate) async fn short_sessions(addresses: &str) -> LockManager {
    let backend = with_sessions(SESSION, addresses).await;
    patient().build(backend).unwrap()
}

/// Returns when a key does not have holders or waiters, so no node is left.
pub(crate) async fn becomes_free(locks: &LockManager, key: &str, limit: Duration) {
    let started = Instant::now();
    loop {
        let seen = locks.inspect(key).await;
        if seen.as_ref().is_ok_and(Inspection::is_free) {
            return;
        }
        assert!(started.elapsed() < limit, "{key}: {seen:?}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the claim of an attempt that finds the lock free.
pub(crate) async fn take(backend: &ZooKeeper, attempt: &Attempt) -> Claim {
    match backend.attempt(attempt).await.unwrap() {
        AttemptAnswer::Granted { token, .. } => attempt.claim(token),
        other => panic!("{other:?}"),
    }
}
