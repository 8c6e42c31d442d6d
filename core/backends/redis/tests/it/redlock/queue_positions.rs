//! The queue positions of waiters that have left.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold_testkit::proxy::{Direction, Traffic};
use tokio::time::sleep;

use crate::redlock::nodes::{Nodes, durable, eventually};

impl Nodes {
    /// Returns how many requests were queued on a node because the lock was held, and the current length of the queue.
    async fn line(&self, place: usize) -> (u64, u64) {
        let mut raw = self.raw(place).await;
        let mut info = redis::cmd("INFO");
        let info: String = info
            .arg("commandstats")
            .query_async(&mut raw)
            .await
            .unwrap();
        let mut lines = info.lines();
        let came = lines.find_map(|line| line.strip_prefix("cmdstat_zadd:calls="));
        let came = came.and_then(|it| it.split(',').next());
        let mut card = redis::cmd("ZCARD");
        card.arg("{lock:k}:lh1:line");
        let stand = card.query_async(&mut raw).await.unwrap();
        (came.map_or(0, |it| it.parse().unwrap()), stand)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cleanup_that_overtakes_its_request_leaves_no_waiter_in_the_queue() {
    let nodes = Nodes::start(3).await;
    let redlock = durable(nodes.urls_behind()).node_timeout(Duration::from_secs(5));
    let redlock = redlock.connect().await.unwrap();
    for place in 0..3 {
        assert!(nodes.occupy(place, 600_000).await);
    }
    // The client queries this node's clock first. So its request is sent after the round was decided and the cleanup
    // has arrived.
    nodes.proxies[2].set(
        Direction::ToClient,
        Traffic::Delay(Duration::from_millis(300)),
    );
    let key = Key::new("lock:", "k").unwrap();
    let attempt = Attempt::new(key, Duration::from_secs(30), true);
    let busy = redlock.attempt(&attempt).await.unwrap();
    assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}");
    redlock.cleanup(&attempt).await.unwrap();
    for place in 0..3 {
        eventually("it came, and has gone", async || {
            nodes.line(place).await == (1, 0)
        })
        .await;
    }
}

/// A queue position lasts for 33 s, and a lock for at most two.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_returns_late_gets_the_cleanup_of_waiters_that_left() {
    let max_ttl = Duration::from_secs(2);
    let nodes = Nodes::start(3).await;
    let redlock = durable(nodes.urls_behind()).node_timeout(max_ttl / 6);
    let redlock = redlock.max_ttl(max_ttl).connect().await.unwrap();
    for place in 0..3 {
        assert!(nodes.occupy(place, 600_000).await);
    }
    let attempt = Attempt::new(Key::new("lock:", "k").unwrap(), max_ttl, true);
    let waits = async |place: usize| nodes.line(place).await.1 == 1;
    eventually("the waiter stands in line everywhere", async || {
        match redlock.attempt(&attempt).await {
            Ok(busy) => assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}"),
            // Two nodes were late.
            Err(_) => return false,
        }
        waits(0).await && waits(1).await && waits(2).await
    })
    .await;
    for proxy in &nodes.proxies[1..] {
        proxy.set(Direction::ToClient, Traffic::Drop);
        proxy.set(Direction::ToServer, Traffic::Drop);
    }
    redlock.cleanup(&attempt).await.unwrap_err();
    sleep(max_ttl * 2 + Duration::from_secs(1)).await;
    assert!(waits(1).await && waits(2).await);
    for proxy in &nodes.proxies[1..] {
        proxy.pass();
        proxy.cut();
    }
    for place in 0..3 {
        eventually("nobody stands in line", async || !waits(place).await).await;
    }
}
