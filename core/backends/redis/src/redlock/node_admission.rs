//! Decides which servers may vote. Each node must be a separate server. A restarted server may have forgotten its
//! grants, so the server does not vote until the longest lease has ended.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::protocol::reply;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::support::event;

/// Refuses a server that is not a separate node, or that was restarted recently. A restarted server may have forgotten
/// locks that are still held, and tokens that it generated.
///
/// The client recognises a server by its run id, and compares the run id for each new connection. The client reads the
/// uptime once per run, and then counts the uptime by this process's own clock. The server counts its uptime by the
/// time of day, which can jump.
#[derive(Debug)]
pub(super) struct RestartQuarantine {
    place: usize,
    roster: Arc<DistinctNodes>,
    /// `None` if servers never lose data.
    away: Option<Duration>,
    state: Mutex<QuarantineState>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    known: Option<KnownServer>,
    /// The reason why the client refused the last server, if it did.
    out: Option<NotAdmitted>,
}

#[derive(Debug)]
struct KnownServer {
    run_id: String,
    admitted_from: LeaseInstant,
}

/// The reason why the client does not use a reachable server for locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// The server will vote later.
    TooYoung {
        version: String,
    },
    Unfit(UnfitNode),
}

impl RestartQuarantine {
    /// Creates the admission: servers must be distinct, and their uptime must exceed `away`, if set.
    pub(super) fn of(place: usize, roster: &Arc<DistinctNodes>, away: Option<Duration>) -> Self {
        Self {
            place,
            roster: Arc::clone(roster),
            away,
            state: Mutex::default(),
        }
    }

    /// Returns an error if the client must not use the server of a new connection, according to the server's identity
    /// and uptime.
    pub(super) fn admit(&self, info: &str) -> Result<(), BackendError> {
        self.fits(info)?;
        match self.away {
            Some(away) => self.check_restart(info, away),
            None => {
                self.state.lock().out = None;
                Ok(())
            }
        }
    }

    /// Returns the reason why the client refused the last server, if it did.
    pub(super) fn quarantined(&self) -> Option<NotAdmitted> {
        self.state.lock().out.clone()
    }

    /// Checks the server's identity. A failure is temporary, because the name may lead to another server later. Pending
    /// releases stay pending.
    fn fits(&self, info: &str) -> Result<(), BackendError> {
        let Err(unfit) = self.roster.enter(self.place, info) else {
            return Ok(());
        };
        let refused = BackendError::not_applied(unfit.to_string());
        let out = Some(NotAdmitted::Unfit(unfit));
        let before = std::mem::replace(&mut self.state.lock().out, out.clone());
        // The client retries the connection continuously, so this reports each reason once.
        if before != out {
            warn_of_unfit_node(&self.roster.address(self.place), &refused);
        }
        Err(refused)
    }

    fn check_restart(&self, info: &str, away: Duration) -> Result<(), BackendError> {
        let field = |name| reply::info_field(info, name);
        let uptime = field("uptime_in_seconds").and_then(|it| it.parse().ok());
        let (Some(run_id), Some(uptime)) = (field("run_id"), uptime) else {
            return Err(BackendError::not_applied(
                "the server does not report its uptime (INFO server)",
            ));
        };
        let mut state = self.state.lock();
        let admitted_from = match &state.known {
            Some(known) if known.run_id == run_id => known.admitted_from,
            _ => LeaseInstant::now().after(away.saturating_sub(Duration::from_secs(uptime))),
        };
        let left = admitted_from.remaining();
        state.known = Some(KnownServer {
            run_id: run_id.to_owned(),
            admitted_from,
        });
        state.out = (!left.is_zero()).then(|| NotAdmitted::TooYoung {
            version: field("redis_version").unwrap_or_default().to_owned(),
        });
        if left.is_zero() {
            return Ok(());
        }
        Err(BackendError::not_applied(format!(
            "it was restarted and may have forgotten locks that are still held; it votes again in {left:.1?}"
        )))
    }
}

fn warn_of_unfit_node(node: &str, error: &BackendError) {
    event!(
        warn,
        "leasehold.unfit_node",
        { node = node, error = error as &dyn std::error::Error },
        "the node has no vote, because its server is not a separate node"
    );
}

/// The nodes, and the run id of each node's last server.
#[derive(Debug)]
pub(super) struct DistinctNodes(Mutex<Vec<NodeIdentity>>);

#[derive(Debug)]
struct NodeIdentity {
    address: String,
    run_id: Option<String>,
}

/// The reason why a server cannot be a node, whatever its uptime is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnfitNode {
    #[error("it is the same server as {other}, and would have two votes; use independent servers")]
    Twin { other: String },
    #[error(
        "it is a member of a Cluster, which moves its keys; use independent servers, or connect with redis+cluster://"
    )]
    OfACluster,
    #[error("it is a replica of another server; use independent servers")]
    Replica,
}

impl DistinctNodes {
    /// Creates the nodes at these addresses, in order.
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

    /// Records the server of a node's new connection by its run id, unless the server cannot be a node.
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
            // The name of this node now leads to another server than before. Without this step two nodes with exchanged
            // names would refuse each other.
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
    use tokio::time::advance;

    use super::*;

    const AWAY: Duration = Duration::from_secs(60);

    /// The admission of the only node.
    fn admission() -> RestartQuarantine {
        let roster = DistinctNodes::of(["a".to_owned()]);
        RestartQuarantine::of(0, &Arc::new(roster), Some(AWAY))
    }

    fn info(run_id: &str, uptime: u64) -> String {
        format!("redis_version:7.0.15\r\nrun_id:{run_id}\r\nuptime_in_seconds:{uptime}\r\n")
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_admitted_when_it_has_been_up_long_enough() {
        let admission = admission();
        let check_restart = |run_id, uptime| admission.check_restart(&info(run_id, uptime), AWAY);
        assert!(check_restart("old", 60).is_ok());
        assert!(check_restart("a", 180).is_ok());
        // The server was restarted: it reports an uptime of ten seconds.
        let refused = check_restart("new", 10).unwrap_err();
        assert!(
            refused.is_temporary() && refused.to_string().contains("in 50.0s"),
            "{refused}"
        );
        let too_young = || {
            let version = "7.0.15".to_owned();
            Some(NotAdmitted::TooYoung { version })
        };
        assert_eq!(admission.quarantined(), too_young());
        advance(Duration::from_secs(49)).await;
        assert!(check_restart("new", 59).is_err());
        advance(Duration::from_secs(1)).await;
        // The result is the same as when the client connected.
        assert_eq!(admission.quarantined(), too_young());
        assert!(check_restart("new", 60).is_ok());
        assert_eq!(admission.quarantined(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_servers_clock_does_not_admit_the_server() {
        let admission = admission();
        assert!(admission.check_restart(&info("new", 0), AWAY).is_err());
        assert!(admission.check_restart(&info("new", 6000), AWAY).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_is_refused_and_must_wait_after_its_promotion() {
        let admission = admission();
        let replica = format!("{}role:slave\r\n", info("new", 0));
        let refused = admission.fits(&replica).unwrap_err();
        assert!(refused.is_temporary(), "{refused}");
        assert_eq!(
            admission.quarantined(),
            Some(NotAdmitted::Unfit(UnfitNode::Replica))
        );
        // The server was promoted to a primary.
        let primary = info("new", 0);
        assert!(admission.fits(&primary).is_ok());
        assert!(admission.check_restart(&primary, AWAY).is_err());
        advance(AWAY).await;
        assert!(admission.check_restart(&primary, AWAY).is_ok());
    }

    fn roster() -> DistinctNodes {
        DistinctNodes::of(["a", "b", "c"].map(ToOwned::to_owned))
    }

    fn server(run_id: &str) -> String {
        format!("# Server\r\nrun_id:{run_id}\r\nrole:master\r\ncluster_enabled:0\r\n")
    }

    #[test]
    fn one_server_cannot_be_two_nodes_but_servers_may_be_replaced_or_swapped() {
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
        // The server of the first node was restarted.
        assert_eq!(enter(0, "three"), Ok(()));
        assert_eq!(enter(2, "one"), Ok(()));
        // The names of the first two nodes lead to each other's servers.
        assert_eq!(enter(0, "two"), twin_of("b"));
        assert_eq!(enter(1, "three"), Ok(()));
        assert_eq!(enter(0, "two"), Ok(()));
    }

    #[test]
    fn cluster_nodes_and_replicas_are_refused_and_servers_without_id_accepted() {
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
