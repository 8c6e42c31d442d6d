//! The builder's setting for how long nodes keep the last token of a key.

use std::time::Duration;

use leasehold::backend::redlock::Redlock;
use leasehold::{ConnectError, Error};
use redis::AsyncCommands;

use crate::redlock::nodes::{Nodes, durable, eventually, manager};

const HOUR: Duration = Duration::from_secs(3_600);
const FENCE: &str = "{lock:k}:lh1:fence";

async fn is_kept_for_an_hour(nodes: &Nodes) {
    for place in 0..nodes.servers.len() {
        // A renewal does not wait for the last node.
        eventually("the node keeps the token for an hour", async || {
            let left: i64 = nodes.raw(place).await.pttl(FENCE).await.unwrap();
            (3_500_000..=3_600_000).contains(&left)
        })
        .await;
    }
}

#[tokio::test]
async fn nodes_keep_the_last_token_for_the_fence_ttl() {
    let nodes = Nodes::start(3).await;
    let locks = manager(durable(nodes.urls()).fence_ttl(HOUR)).await;
    let guard = nodes.held_everywhere(&locks, "k").await;
    guard.renew().await.unwrap();
    is_kept_for_an_hour(&nodes).await;
    for place in 0..3 {
        let () = nodes.raw(place).await.pexpire(FENCE, 60_000).await.unwrap();
    }
    guard.renew().await.unwrap();
    is_kept_for_an_hour(&nodes).await;
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_fence_ttl_that_leases_or_clocks_may_exceed_is_refused() {
    let nodes = Nodes::start(1).await;
    let minute = Duration::from_secs(60);
    for (max_ttl, clock_difference) in [(minute, minute * 40), (minute * 40, minute)] {
        let redlock = Redlock::new(nodes.urls())
            .max_ttl(max_ttl)
            .clock_difference(clock_difference)
            .fence_ttl(HOUR);
        let refused = redlock.connect().await.unwrap_err();
        let told = refused.to_string();
        assert!(
            matches!(refused, Error::Connect(ConnectError::Option { .. }))
                && told.contains("4800s"),
            "{told}"
        );
    }
}
