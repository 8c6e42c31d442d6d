//! Planned changes of an ensemble by operators, under load.

use std::time::Duration;

use leasehold_testkit::servers::ZooKeeperServer;

use crate::crowd::served_throughout;
use crate::server::short_sessions;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rolling_restart_delays_acquires_only_briefly() {
    // The limit is large, because busy machines are slow.
    let three = ZooKeeperServer::builder().sync_limit(50);
    let three = three.start_three().await.unwrap();
    let managers = [
        short_sessions(&three.addresses()).await,
        short_sessions(&three.addresses()).await,
    ];
    let restarts = async {
        for node in three.nodes() {
            node.kill();
            node.restart().await.unwrap();
            node.until_ready().await.unwrap();
        }
    };
    served_throughout(&managers, Duration::from_secs(40), restarts).await;
}
