//! Which nodes can be used, as far as that shows when a client connects.

use std::time::Duration;

use leasehold::backend::redis::Redlock;
use leasehold::{ConnectError, Error};
use leasehold_testkit::servers::RedisServer;

use crate::election::in_words;
use crate::nodes::{NODE_TIMEOUT, Nodes, eventually};

/// How long the node has been up, as it says.
async fn uptime(nodes: &Nodes, place: usize) -> u64 {
    let mut info = redis::cmd("INFO");
    info.arg("server");
    let info: String = info.query_async(&mut nodes.raw(place).await).await.unwrap();
    let mut lines = info.lines();
    let up = lines.find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    up.unwrap().parse().unwrap()
}

#[tokio::test]
async fn nodes_that_refuse_our_scripts_are_not_taken_for_such_as_vote_later() {
    let nodes = Nodes::with(5, |_place, node| {
        node.user("some", "pass", "~* &* +@all -script")
    })
    .await;
    let url = |server: &RedisServer| format!("redis://some:pass@127.0.0.1:{}", server.port());
    let urls: Vec<_> = nodes.servers.iter().map(url).collect();
    let second = Duration::from_secs(1);
    let votes_soon = Redlock::new(urls.clone())
        .node_timeout(NODE_TIMEOUT)
        .max_ttl(second)
        .clock_difference(Duration::ZERO);
    let is_refused = |connected: Result<Redlock, ConnectError>| {
        let refused = Error::from(connected.unwrap_err());
        let words = in_words(&refused);
        assert!(words.contains("0 of 5 nodes can be used"), "{words}");
        assert!(words.contains("the user may not do this"), "{words}");
    };
    // None of them votes for a minute, and it would not do so then either.
    is_refused(Redlock::new(urls).connect().await);
    eventually("they have been up for long enough", async || {
        let mut least = u64::MAX;
        for place in 0..5 {
            least = least.min(uptime(&nodes, place).await);
        }
        least > 3
    })
    .await;
    is_refused(votes_soon.connect().await);
}
