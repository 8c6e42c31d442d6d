//! What a check finds on the nodes of a Redlock.

use leasehold::check::Verdict;

use crate::redlock::nodes::Nodes;
use crate::single::check::has;

#[tokio::test]
async fn each_node_is_examined_and_a_missing_node_is_a_warning() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks().await;
    let report = locks.check().await;
    has(&report, Verdict::Good, "majority", "3 of 3");
    for server in &nodes.servers {
        let address = format!("127.0.0.1:{}", server.port());
        has(&report, Verdict::Warning, "persistence", &address);
    }

    nodes.servers[0].kill();
    let report = locks.check().await;
    has(&report, Verdict::Warning, "node", "start the node");
    has(&report, Verdict::Good, "majority", "2 of 3");
}
