use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::redlock::{Redlock, RedlockBuilder};
use leasehold::{Error, Lock, LockGuard, LockManager, LockManagerBuilder};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

/// The timeout for events that should happen soon, on a busy machine with two cores.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The timeout of one node where a test waits until it has passed. A busy machine may be slower, so a request with this
/// timeout is repeated.
pub(crate) const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// The timeout of one node elsewhere, which is much longer than a delay by a busy machine. The shortest TTL is then
/// 12 s.
const PATIENT: Duration = Duration::from_secs(2);

/// The timeout of one node in the suite, whose leases are not much longer than the shortest TTL.
const IN_SUITE: Duration = Duration::from_millis(300);

/// How long connecting waits for the other nodes after a majority has replied.
const LATE: Duration = Duration::from_millis(200);

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

    /// Connects for the suite.
    pub(crate) async fn in_suite(&self) -> Redlock {
        let redlock = durable(self.urls()).node_timeout(IN_SUITE);
        redlock.connect().await.unwrap()
    }

    pub(crate) async fn locks(&self) -> LockManager {
        manager(durable(self.urls())).await
    }

    /// Connects through the proxies.
    pub(crate) async fn locks_behind(&self) -> LockManager {
        manager(durable(self.urls_behind())).await
    }

    /// Connects through the proxies, and soon gives up on a node that does not reply.
    pub(crate) async fn hasty_locks_behind(&self) -> LockManager {
        manager(durable(self.urls_behind()).node_timeout(NODE_TIMEOUT)).await
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
        // By default, a reply may take only half a second.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(SOON))
            .set_response_timeout(Some(SOON));
        let raw = client.get_multiplexed_async_connection_with_config(&patient);
        raw.await.unwrap()
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
        self.granted_by_all(key, &locks.lock(key)).await
    }

    /// Like [`held_everywhere`](Self::held_everywhere), with the lock of `key`.
    pub(crate) async fn granted_by_all(&self, key: &str, lock: &Lock) -> LockGuard {
        let started = Instant::now();
        loop {
            let guard = lock.clone().wait(SOON).acquire().await.unwrap();
            for _ in 0..20 {
                if self.values(key).await.iter().all(Option::is_some) {
                    return guard;
                }
                sleep(Duration::from_millis(5)).await;
            }
            // If this is not confirmed in time, it is repeated.
            let _confirmed = guard.release().await;
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
    Redlock::new(urls).durable_nodes(true).node_timeout(PATIENT)
}

/// Connects a manager whose own timeouts end no request before the timeouts of the nodes do.
pub(crate) async fn manager(nodes: RedlockBuilder) -> LockManager {
    patient().build(nodes.connect().await.unwrap()).unwrap()
}

/// Like [`manager`], for nodes that refuse the default TTL.
pub(crate) async fn manager_with_ttl(nodes: RedlockBuilder, ttl: Duration) -> LockManager {
    let redlock = nodes.connect().await.unwrap();
    patient().ttl(ttl).build(redlock).unwrap()
}

fn patient() -> LockManagerBuilder {
    LockManager::builder()
        .command_timeout(Duration::from_secs(20))
        .backend_retry_timeout(SOON)
}

/// Returns the error of a connect. A node that replies much later than a majority is not waited for, so what it would
/// have said is not an error of that connect. Then the connect is repeated.
pub(crate) async fn refused(nodes: &RedlockBuilder) -> Error {
    for _ in 0..100 {
        let begin = Instant::now();
        match nodes.clone().connect().await {
            Err(error) => return error,
            Ok(_) => assert!(begin.elapsed() >= LATE, "connected"),
        }
    }
    panic!("a node is late each time");
}

/// Polls until `look` returns `true`.
pub(crate) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !look().await {
        assert!(started.elapsed() < SOON, "not within {SOON:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
