use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::time::{sleep, timeout};

/// Much longer than any step of these tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Redis server for one test, and helpers to connect to it.
pub(crate) struct Server(RedisServer);

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(settings: impl FnOnce(RedisBuilder) -> RedisBuilder) -> Self {
        Self(settings(RedisServer::builder()).start().await.unwrap())
    }

    /// Starts a server that is a Cluster with one node.
    pub(crate) async fn of_a_cluster() -> Self {
        let server = Self::with(|it| it.arg("--cluster-enabled").arg("yes")).await;
        let mut raw = server.raw().await;
        let mut slots = redis::cmd("CLUSTER");
        slots.arg("ADDSLOTS").arg(Vec::from_iter(0..16_384));
        let () = slots.query_async(&mut raw).await.unwrap();
        let mut up = String::new();
        while !up.contains("cluster_state:ok") {
            let mut ask = redis::cmd("CLUSTER");
            up = ask.arg("INFO").query_async(&mut raw).await.unwrap();
        }
        server
    }

    pub(crate) fn kill(&self) {
        self.0.kill();
    }

    /// Restarts the server. Whether it still has its data depends on its settings.
    pub(crate) async fn start_again(&self) {
        self.0.restart().await.unwrap();
    }

    /// Restarts the server without its data.
    pub(crate) async fn start_empty(&self) {
        self.0.restart_empty().await.unwrap();
    }

    pub(crate) fn inner(&self) -> &RedisServer {
        &self.0
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    pub(crate) async fn locks(&self) -> LockManager {
        LockManager::new(Redis::connect(&self.url()).await.unwrap())
    }

    /// Opens a connection that does not use Leasehold.
    pub(crate) async fn raw(&self) -> MultiplexedConnection {
        self.raw_with_timeout(Some(PATIENCE)).await
    }

    /// Opens a connection that does not use Leasehold, and that waits this long for the server and for each reply.
    pub(crate) async fn raw_with_timeout(&self, limit: Option<Duration>) -> MultiplexedConnection {
        // The server closes no idle client with a subscription, so only idle connections of Leasehold are tested.
        let stays = self.0.closes_idle_clients();
        let protocol = if stays { "?protocol=resp3" } else { "" };
        let client = redis::Client::open(format!("{}{protocol}", self.url())).unwrap();
        // By default, a reply may take only half a second.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(limit)
            .set_response_timeout(limit);
        let raw = client.get_multiplexed_async_connection_with_config(&patient);
        let mut raw = raw.await.unwrap();
        if stays {
            raw.subscribe("stays").await.unwrap();
        }
        raw
    }

    /// Returns how many scripts the server has run.
    pub(crate) async fn scripts(&self) -> u64 {
        self.told("commandstats", "cmdstat_evalsha:calls").await
    }

    /// Returns the server's counter with this name.
    pub(crate) async fn told(&self, section: &str, name: &str) -> u64 {
        let mut raw = self.raw().await;
        let mut ask = redis::cmd("INFO");
        let info: String = ask.arg(section).query_async(&mut raw).await.unwrap();
        count(&info, name)
    }
}

/// Returns the counter with this name in the output of INFO.
pub(crate) fn count(info: &str, name: &str) -> u64 {
    let mut lines = info.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix([':', '=']));
    let digits = line.unwrap_or("0").split(',').next().unwrap();
    digits.parse().unwrap()
}

/// Returns when `count` waiters wait for the key `k`.
pub(crate) async fn waiters(locks: &LockManager, count: usize) {
    let look = async {
        while locks.inspect("k").await.unwrap().waiting != count {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, look).await.is_ok(), "{count} should wait");
}
