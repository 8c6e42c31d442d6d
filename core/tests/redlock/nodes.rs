use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::redlock::{Redlock, RedlockBuilder};
use leasehold::{LockGuard, LockManager};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

/// How long something may take that should happen soon, on a machine where everything runs on two cores.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// How long one node may take to answer: longer than a busy machine keeps it waiting.
pub(crate) const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// Independent Redis servers of this test's own, each behind a proxy.
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

    /// Servers that are fresh, and never forget anything while a test runs.
    pub(crate) async fn redlock(&self) -> Redlock {
        durable(self.urls()).connect().await.unwrap()
    }

    pub(crate) async fn locks(&self) -> LockManager {
        LockManager::new(self.redlock().await)
    }

    /// By way of the proxies.
    pub(crate) async fn locks_behind(&self) -> LockManager {
        manager(durable(self.urls_behind())).await
    }

    pub(crate) fn urls_behind(&self) -> Vec<String> {
        let nodes = self.servers.iter().zip(&self.proxies);
        nodes
            .map(|(server, proxy)| server.url_at(proxy.port()))
            .collect()
    }

    /// A connection that knows nothing of Leasehold.
    pub(crate) async fn raw(&self, place: usize) -> MultiplexedConnection {
        let client = redis::Client::open(self.servers[place].url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// Lets another program hold `k` on a node: whether it was free.
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

    /// Ends what another program holds.
    pub(crate) async fn vacate(&self, place: usize) {
        let mut del = redis::cmd("DEL");
        del.arg("lock:k");
        let _: u8 = del.query_async(&mut self.raw(place).await).await.unwrap();
    }

    /// What each node has under a key of the lock's prefix.
    pub(crate) async fn values(&self, key: &str) -> Vec<Option<String>> {
        let mut values = Vec::new();
        for place in 0..self.servers.len() {
            let mut get = redis::cmd("GET");
            get.arg(format!("lock:{key}"));
            values.push(get.query_async(&mut self.raw(place).await).await.unwrap());
        }
        values
    }

    /// A guard that every node has granted: who is down is asked again when it is back.
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

    /// Waits until no node has the lock in anybody's name.
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

/// Looks again and again until `look` answers true.
pub(crate) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !look().await {
        assert!(started.elapsed() < SOON, "not within {SOON:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
