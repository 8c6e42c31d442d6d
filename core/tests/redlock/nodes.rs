use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::redlock::{Redlock, RedlockBuilder};
use leasehold::{LockGuard, LockManager};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

/// The timeout for events that should happen soon, on a busy machine with two cores.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The timeout of one node, which is longer than a delay by a busy machine.
pub(crate) const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// Independent Redis servers for one test, each with a proxy.
pub(crate) struct Nodes {
    pub(crate) servers: Vec<RedisServer>,
    pub(crate) proxies: Vec<Proxy>,
}

impl Nodes {
    pub(crate) async fn start(count: usize) -> Self {
        Self::with(count, |_place, builder| builder).await
    }

    pub(crate) async fn with(
        count: usize,
        settings: impl Fn(usize, RedisBuilder) -> RedisBuilder,
    ) -> Self {
        let servers = (0..count).map(|place| settings(place, RedisServer::builder()).start());
        let servers = join_all(servers).await.into_iter().map(Result::unwrap);
        let servers: Vec<_> = servers.collect();
        let proxies = servers.iter().map(|server| Proxy::start(server.port()));
        let proxies = join_all(proxies).await.into_iter().map(Result::unwrap);
        let proxies = proxies.collect();
        Self { servers, proxies }
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(RedisServer::url).collect()
    }

    /// Connects to new servers that never lose data during a test.
    pub(crate) async fn redlock(&self) -> Redlock {
        durable(self.urls()).connect().await.unwrap()
    }

    pub(crate) async fn locks(&self) -> LockManager {
        LockManager::new(self.redlock().await)
    }

    /// Connects through the proxies.
    pub(crate) async fn locks_behind(&self) -> LockManager {
        manager(durable(self.urls_behind())).await
    }

    pub(crate) fn urls_behind(&self) -> Vec<String> {
        let nodes = self.servers.iter().zip(&self.proxies);
        nodes
            .map(|(server, proxy)| server.url_at(proxy.port()))
            .collect()
    }

    /// Opens a connection that does not use Leasehold.
    pub(crate) async fn raw(&self, place: usize) -> MultiplexedConnection {
        let client = redis::Client::open(self.servers[place].url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// Makes another program hold `k` on a node. Returns whether it was free.
    pub(crate) async fn occupy(&self, place: usize, ttl_ms: u64) -> bool {
        let mut set = redis::cmd("SET");
        set.arg("lock:k")
            .arg("somebody")
            .arg("NX")
            .arg("PX")
            .arg(ttl_ms);
        let set: Option<String> = set.query_async(&mut self.raw(place).await).await.unwrap();
        set.is_some()
    }

    /// Deletes the lock of another program.
    pub(crate) async fn vacate(&self, place: usize) {
        let mut del = redis::cmd("DEL");
        del.arg("lock:k");
        let _: u8 = del.query_async(&mut self.raw(place).await).await.unwrap();
    }

    /// Returns the value of a key on each node.
    pub(crate) async fn values(&self, key: &str) -> Vec<Option<String>> {
        let mut values = Vec::new();
        for place in 0..self.servers.len() {
            let mut get = redis::cmd("GET");
            get.arg(format!("lock:{key}"));
            values.push(get.query_async(&mut self.raw(place).await).await.unwrap());
        }
        values
    }

    /// Returns a guard that all nodes have granted. Nodes that were down get the request again.
    pub(crate) async fn held_everywhere(&self, locks: &LockManager, key: &str) -> LockGuard {
        let started = Instant::now();
        loop {
            let guard = locks.lock(key).wait(SOON).acquire().await.unwrap();
            for _ in 0..20 {
                if self.values(key).await.iter().all(Option::is_some) {
                    return guard;
                }
                sleep(Duration::from_millis(5)).await;
            }
            guard.release().await.unwrap();
            assert!(started.elapsed() < SOON, "some node stays down");
        }
    }

    /// Waits until no node has the lock.
    pub(crate) async fn are_empty(&self, key: &str) {
        eventually("no node has the lock", async || {
            self.values(key).await.iter().all(Option::is_none)
        })
        .await;
    }
}

pub(crate) fn durable(urls: Vec<String>) -> RedlockBuilder {
    Redlock::new(urls)
        .durable_nodes(true)
        .node_timeout(NODE_TIMEOUT)
}

pub(crate) async fn manager(nodes: RedlockBuilder) -> LockManager {
    LockManager::new(nodes.connect().await.unwrap())
}

/// Polls until `look` returns `true`.
pub(crate) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !look().await {
        assert!(started.elapsed() < SOON, "not within {SOON:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
