//! Checks that the nodes of a Redlock are independent servers.

use parking_lot::Mutex;

use crate::backend::redis::protocol::reply;

/// The nodes, and the run id of the server that each of them led to last.
#[derive(Debug)]
pub(super) struct DistinctNodes(Mutex<Vec<NodeIdentity>>);

#[derive(Debug)]
struct NodeIdentity {
    address: String,
    run_id: Option<String>,
}

/// Why a server cannot be a node, whatever its age.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnfitNode {
    #[error("it is the same server as {other}, and would vote twice; name independent servers")]
    Twin { other: String },
    #[error(
        "it is a member of a Cluster, which moves its keys; name independent servers, or connect with redis+cluster://"
    )]
    OfACluster,
    #[error("it is a replica, which only repeats another server; name independent servers")]
    Replica,
}

impl DistinctNodes {
    /// The nodes at these addresses, in order.
    pub(super) fn of(addresses: impl IntoIterator<Item = String>) -> Self {
        let node = |address| NodeIdentity {
            address,
            run_id: None,
        };
        Self(Mutex::new(addresses.into_iter().map(node).collect()))
    }

    pub(super) fn address(&self, place: usize) -> String {
        let nodes = self.0.lock();
        nodes
            .get(place)
            .map_or_else(String::new, |node| node.address.clone())
    }

    /// Notes to which server a new connection of a node leads, by what it says of itself, unless it cannot be a node.
    pub(super) fn enter(&self, place: usize, info: &str) -> Result<(), UnfitNode> {
        let field = |name| reply::info_field(info, name);
        let mut nodes = self.0.lock();
        let run_id = field("run_id").filter(|it| !it.is_empty());
        let is_twin =
            |node: &NodeIdentity| node.run_id.is_some() && node.run_id.as_deref() == run_id;
        let mut others = nodes.iter().enumerate().filter(|(it, _)| *it != place);
        let twin = others.find(|(_, node)| is_twin(node));
        let unfit = if field("cluster_enabled") == Some("1") {
            Some(UnfitNode::OfACluster)
        } else if field("role") == Some("slave") {
            Some(UnfitNode::Replica)
        } else {
            twin.map(|(_, node)| UnfitNode::Twin {
                other: node.address.clone(),
            })
        };
        if let Some(node) = nodes.get_mut(place) {
            // Who was there is not any more. Two nodes whose names were exchanged would keep each other out.
            node.run_id = match unfit {
                Some(_) => None,
                None => run_id.map(ToOwned::to_owned),
            };
        }
        unfit.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster() -> DistinctNodes {
        DistinctNodes::of(["a", "b", "c"].map(ToOwned::to_owned))
    }

    fn server(run_id: &str) -> String {
        format!("# Server\r\nrun_id:{run_id}\r\nrole:master\r\ncluster_enabled:0\r\n")
    }

    #[test]
    fn one_server_is_one_node_and_servers_may_be_replaced_or_exchange_their_names() {
        let roster = roster();
        let enter = |place, run_id| roster.enter(place, &server(run_id));
        let twin_of = |other: &str| {
            Err(UnfitNode::Twin {
                other: other.to_owned(),
            })
        };
        assert_eq!(enter(0, "one"), Ok(()));
        assert_eq!(enter(1, "one"), twin_of("a"));
        assert_eq!(enter(0, "one"), Ok(()));
        assert_eq!(enter(1, "two"), Ok(()));
        // The server of the first was restarted.
        assert_eq!(enter(0, "three"), Ok(()));
        assert_eq!(enter(2, "one"), Ok(()));
        // The names of the first two lead to each other's servers.
        assert_eq!(enter(0, "two"), twin_of("b"));
        assert_eq!(enter(1, "three"), Ok(()));
        assert_eq!(enter(0, "two"), Ok(()));
    }

    #[test]
    fn who_shares_what_it_knows_is_none_and_who_does_not_say_its_id_is_not_compared() {
        let roster = roster();
        let cluster = server("one").replace("cluster_enabled:0", "cluster_enabled:1");
        assert_eq!(roster.enter(0, &cluster), Err(UnfitNode::OfACluster));
        let replica = server("two").replace("role:master", "role:slave");
        assert_eq!(roster.enter(1, &replica), Err(UnfitNode::Replica));
        for place in 0..3 {
            assert_eq!(roster.enter(place, &server("")), Ok(()));
        }
    }
}
