//! Planned changes of the servers by operators, under load.

use std::time::Duration;

use crate::crowd::served_throughout;
use crate::redlock::nodes::{Nodes, eventually};
use leasehold_testkit::servers::RedisBuilder;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rolling_restart_delays_acquires_only_briefly() {
    let nodes = Nodes::with(3, |_place, node| RedisBuilder::keeps_data(node)).await;
    let managers = [nodes.locks().await, nodes.locks().await];
    let restarts = async {
        for place in 0..nodes.servers.len() {
            nodes.servers[place].kill();
            nodes.servers[place].restart().await.unwrap();
            // Wait, because restarting two nodes together stops a majority.
            eventually("it has its data", async || {
                let mut raw = nodes.raw(place).await;
                redis::cmd("PING").exec_async(&mut raw).await.is_ok()
            })
            .await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    served_throughout(&managers, Duration::from_secs(20), restarts).await;
}

#[tokio::test]
async fn a_node_with_a_revoked_password_gets_missed_releases_once_it_is_back() {
    let nodes = Nodes::with(3, |_place, node| node.user("app", "secret", "~* &* +@all")).await;
    let locks = nodes.locks().await;
    let guard = nodes.held_everywhere(&locks, "k").await;
    let mut node = nodes.servers[0].client().await.unwrap();
    let take_away = ["ACL", "SETUSER", "app", "<secret"];
    node.command(take_away).await.unwrap();
    for kind in ["normal", "pubsub"] {
        let kill = ["CLIENT", "KILL", "TYPE", kind];
        node.command(kill).await.unwrap();
    }
    // The client notices it without a request.
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.release().await.unwrap();
    let exists = node.command(["EXISTS", "lock:k"]).await.unwrap();
    assert_eq!(exists.int(), Some(1));
    let give_back = ["ACL", "SETUSER", "app", ">secret"];
    node.command(give_back).await.unwrap();
    nodes.are_empty("k").await;
}
