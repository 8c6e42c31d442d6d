//! What operators do to the servers, under load.

use std::time::Duration;

use crate::crowd::served_throughout;
use crate::nodes::{Nodes, eventually};
use leasehold_testkit::servers::RedisBuilder;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rolling_restart_stops_nobody_for_long() {
    let nodes = Nodes::with(3, |_place, node| RedisBuilder::keeps_data(node)).await;
    let managers = [nodes.locks().await, nodes.locks().await];
    let restarts = async {
        for place in 0..nodes.servers.len() {
            nodes.servers[place].kill();
            nodes.servers[place].restart().await.unwrap();
            // Whoever restarts the next before this one is back stops a majority.
            eventually("it has its data", async || {
                let mut raw = nodes.raw(place).await;
                redis::cmd("PING").exec_async(&mut raw).await.is_ok()
            })
            .await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    served_throughout(&managers, Duration::from_secs(5), restarts).await;
}
