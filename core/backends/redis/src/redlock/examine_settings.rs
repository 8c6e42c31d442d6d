//! Examines the settings of the nodes.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use super::quorum_node::QuorumNode;
use crate::examine_settings::{ExaminedServer, add_server_name, examine_server};
use leasehold_core::backend::{BackendError, Finding};

/// A node that answers within the time limit.
struct TimedNode<'a> {
    node: &'a QuorumNode,
    limit: Duration,
}

impl ExaminedServer for TimedNode<'_> {
    async fn call(&self, command: &Cmd) -> Result<Option<Value>, BackendError> {
        self.node.call(self.limit, command).await.map(Some)
    }
}

/// Examines each node.
pub(super) async fn examine(members: &[Arc<QuorumNode>], limit: Duration) -> Vec<Finding> {
    let (mut findings, mut answered) = (Vec::new(), 0);
    for node in members {
        match examine_server(&TimedNode { node, limit }).await {
            Ok(of_node) => {
                let mut of_node = of_node.unwrap_or_default();
                add_server_name(&mut of_node, node.address());
                findings.extend(of_node);
                answered += 1;
            }
            Err(error) => findings.push(Finding::warning(
                "node",
                "liveness",
                format!("{}: {error}", node.address()),
                "start the node, or check the connection to it: a majority must reply",
            )),
        }
    }
    let found = format!("{answered} of {} nodes reply", members.len());
    findings.push(match answered > members.len() / 2 {
        true => Finding::good("majority", "exclusion", found),
        false => Finding::failure("majority", "liveness", found, "start the other nodes"),
    });
    findings
}
