//! Locks on a majority of independent Redis servers.

mod acquire;
mod asked_nodes;
mod attempt_in_process;
mod builder;
mod examine_settings;
mod inspect;
mod list_locks;
mod majority_count;
mod node_admission;
mod node_health;
mod node_scripts;
mod pending_node_requests;
mod quorum_node;
mod release;
mod release_backlog;
mod renew;
mod settings;
mod vote_count;
mod voting_round;
mod wait_for_next_round;

use std::fmt;
use std::sync::Arc;

use crate::wait::waiter_registry::WaiterRegistry;
use attempt_in_process::RedlockAttempt;
pub use builder::RedlockBuilder;
use leasehold_core::Key;
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Finding, Inspection,
    ListCursor, ListPage, Mode, ReleaseAnswer, RenewAnswer, async_trait,
};
use quorum_node::QuorumNode;
use settings::RedlockSettings;

/// Locks on a majority of independent Redis (6.2 or later) or Valkey servers, with fencing tokens.
///
/// The algorithm is antirez's Redlock ("Distributed Locks with Redis"), with tokens added. A client holds the lock if
/// more than half of *all* nodes name it as the holder. The lock is valid for its TTL less the duration of the
/// election. A lock that all nodes have granted survives the failure of any minority of the nodes. In contrast, a lock
/// on one server and its replicas may be lost with the primary. Nodes that were down during an acquire do not count for
/// that lock, even when they are up again.
///
/// The client sends requests to all nodes concurrently, and calls do not wait for the slowest node. A majority decides
/// on grants, renewals and releases. A node that does not reply in time counts as down, and receives requests again
/// when it is up. The client undoes remaining effects of an acquisition or a failed round as soon as it can reach the
/// node.
///
/// The nodes notify waiters, usually in the order of their arrival. However, this backend does not guarantee the order.
/// The nodes may disagree, and may elect a newcomer before the waiters. This backend supports only exclusive locks.
///
/// # Tokens
///
/// In a round the client sends the same hint to all nodes. The hint is a time slightly later than the client's clock.
/// If the clocks are right, all nodes reply with the hint, and one exchange is enough. Otherwise a second exchange
/// raises smaller tokens to the largest token of the first majority. Any two majorities have a node in common, so the
/// next token is larger, for any clocks, delays and pauses. This requires one of two conditions:
///
/// - No node ever loses data ([`RedlockBuilder::durable_nodes`]).
/// - A node that has lost data does not vote for long enough. This is the default, as described below.
///
/// # Nodes that lose data
///
/// A restarted node has forgotten some or all of its grants, and would grant those locks again. So the node does not
/// vote until its uptime exceeds [`max_ttl`](RedlockBuilder::max_ttl), and exceeds
/// [`clock_difference`](RedlockBuilder::clock_difference) plus a second. The client recognises a restart by the run id
/// and the reported uptime, whenever it connects. **By default five new servers grant nothing for the first minute.**
///
/// Every client of the nodes must apply the rule for restarted nodes, with the same `max_ttl`.
///
/// Clients cannot recognise some events: a `FLUSHALL`, evicted keys, and a replica that is promoted under the same
/// address. So run the nodes without replicas, and with `noeviction`. A server in a virtual machine that is restored
/// from a snapshot keeps its run id, so clients do not recognise the restore. Clients do not recognise a restart either
/// if the server's clock is set forward before they first connect. A server reports its uptime by the time of day. Only
/// clients that were connected before use their own clocks.
///
/// If a server's clock is set forward, the server ends its leases early. One such node does not endanger a lock that
/// all nodes have granted. If a client acquired a lock while other nodes were down, the nodes may grant that lock a
/// second time. If a majority of clocks is set forward, the nodes may grant any lock a second time. In both cases a
/// resource that compares fencing tokens rejects the older holder.
///
/// # Changing nodes
///
/// Each node must be a separate server. The client recognises two names of one server by the server's run id, when it
/// connects or later, and counts only one vote. Replicas and members of a Cluster do not vote.
///
/// Clients that use different nodes do not exclude each other. To replace a node, stop it, wait for `max_ttl`, and
/// start its successor *under the same name*. The successor does not vote at first, as above. To change from three
/// nodes to five, or to replace all nodes, stop all clients. Wait for `max_ttl`, and start the clients with the new
/// list. Tokens continue to increase, because the time of day does.
///
/// # Keys and permissions
///
/// The keys and permissions are the same as for [`Redis`](super::Redis), with `{K}:lh1:line`, `{K}:lh1:places`
/// and `{K}:lh1:turn` instead of `queue` and `leases`.
///
/// # Lists
///
/// [`LockManager::list`](leasehold_core::LockManager::list) visits all keys of three of five nodes, or of two of three. Each
/// majority contains at least one of these nodes, so each lock is found. For each key, the client asks all nodes whether
/// a majority holds the lock. The list skips a node that is down, and returns an error if too few nodes reply. The list
/// contains its keys in memory.
pub struct Redlock {
    members: Arc<[Arc<QuorumNode>]>,
    /// All nodes use this registry, because the channel has the same name on each node.
    waiters: WaiterRegistry,
    settings: RedlockSettings,
}

impl Redlock {
    fn of(
        members: Vec<Arc<QuorumNode>>,
        waiters: WaiterRegistry,
        settings: RedlockSettings,
    ) -> Self {
        Self {
            members: members.into(),
            waiters,
            settings,
        }
    }
}

#[async_trait]
impl Backend for Redlock {
    fn capabilities(&self) -> Capabilities {
        self.settings.capabilities()
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        if attempt.mode != Mode::Exclusive || attempt.handover.is_some() {
            let refusal = "Redlock supports exclusive locks only, without handovers";
            return Err(BackendError::not_applied(refusal).permanent());
        }
        self.acquire(attempt).await
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.woken(attempt).await;
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        self.extend(claims).await
    }

    async fn downgrade(&self, _claim: &Claim) -> Result<RenewAnswer, BackendError> {
        Err(BackendError::not_applied("Redlock supports exclusive locks only").permanent())
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        let rounds = RedlockAttempt::of_claim(claim, self.members.len());
        match self.end(&claim.key, claim.owner, &rounds).await? {
            true => Ok(ReleaseAnswer::Released),
            false => Ok(ReleaseAnswer::AlreadyGone),
        }
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let rounds = RedlockAttempt::of(attempt, self.members.len());
        let ended = self.end(&attempt.key, attempt.owner, &rounds).await;
        ended.map(drop)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        inspect::inspect(&self.members, key, self.settings.node_timeout).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        inspect::force_release(&self.members, key, self.settings.node_timeout).await
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        inspect::force_release_holder(&self.members, key, id, self.settings.node_timeout).await
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        self.page(prefix, cursor).await
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        Ok(examine_settings::examine(&self.members, self.settings.node_timeout).await)
    }

    async fn interrupted(&self, _seen: u64) -> u64 {
        // An outage of one node does not end a lease, because a majority decides. Renewals detect the loss of a
        // majority.
        std::future::pending().await
    }

    async fn close(&self) {
        for member in &*self.members {
            member.health.close();
            member.node.close();
        }
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redlock")
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use leasehold_core::FencingToken;
    use leasehold_core::backend::{Applied, Handover, HandoverSecret};

    #[tokio::test]
    async fn unsupported_modes_are_refused_and_down_nodes_interrupt_no_waiter() {
        let waiters = WaiterRegistry::new();
        let members = QuorumNode::unreachable(3, &waiters);
        let redlock = Redlock::of(members, waiters, RedlockSettings::default());
        let attempt = Attempt::new(Key::new("", "k").unwrap(), Duration::from_secs(30), true);
        let given = attempt.claim(FencingToken::try_from(7).unwrap());
        let handover = Handover::new(&given, HandoverSecret::random());
        let taking_up = attempt.clone().taking_up(Some(Box::new(handover)));
        for unknown in [attempt.clone().in_mode(Mode::Shared), taking_up] {
            let refused = redlock.attempt(&unknown).await.unwrap_err();
            assert_eq!(refused.applied(), Applied::No, "{refused}");
            assert!(!refused.is_temporary(), "{refused}");
        }
        redlock
            .waiters
            .enter(&attempt.key, attempt.owner, None)
            .keep();
        assert!(redlock.wait(&attempt).now_or_never().is_none());
        assert_eq!(redlock.interrupted(0).now_or_never(), None);
        redlock.close().await;
        let down = redlock.members.iter().map(|it| it.health.trouble());
        assert!(down.into_iter().all(|why| why.is_some()));
    }
}
