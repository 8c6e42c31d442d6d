//! Locks on a majority of independent Redis servers.

mod acquire;
mod asked_nodes;
mod attempt_rounds;
mod builder;
mod inspect;
mod majority;
mod node_admission;
mod node_health;
mod node_requests;
mod quorum_node;
mod release;
mod release_backlog;
mod renew;
mod request;
mod round;
mod settings;
mod vote_count;
mod wait;

use std::fmt;
use std::sync::Arc;

use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Inspection, Mode,
    ReleaseAnswer, RenewAnswer, async_trait,
};
use crate::Key;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
use attempt_rounds::RedlockAttempts;
pub use builder::RedlockBuilder;
use quorum_node::QuorumNode;
use settings::Settings;

/// Locks on a majority of independent Redis (6.2 or later) or Valkey servers, with fencing tokens.
///
/// The algorithm is antirez's Redlock ("Distributed Locks with Redis"), with tokens added: a lock is held by whom more
/// than half of *all* nodes name, for its TTL less the time that the election took. A lock that all nodes have granted
/// outlives the loss of any minority of them, where a lock on one server and its replicas may be lost with the primary.
/// One that was acquired while some nodes were down stays without them.
///
/// Every node is asked at once, and nobody waits for the slowest: a majority decides, on grant, renewal and release
/// alike. A node that does not answer in time counts as down, and is asked again when it is back. What an acquisition
/// or a failed round may have left on a node is undone there, as soon as the node can be told.
///
/// Waiters are woken by the nodes' messages, mostly in the order in which they came, but no order is promised: nodes
/// may disagree, and whoever comes can be elected before those who wait. Exclusive locks only.
///
/// # Tokens
///
/// A round sends all nodes the same hint, a little ahead of the client's clock; honest clocks make all nodes answer
/// the hint, and then one exchange is enough. Nodes that answer less are raised to the largest answer of the first
/// majority, in a second exchange. As any two majorities share a node, the next token is larger:
///
/// - If no node ever forgets anything ([`RedlockBuilder::durable_nodes`]): whatever clocks, delays and pauses do.
/// - If a node that forgets stays out long enough: likewise. This is the default, see below.
///
/// # Nodes that forget
///
/// A node that was restarted has forgotten some or all of what it had granted, and would grant it again. So a server
/// that has been up for less than [`max_ttl`](RedlockBuilder::max_ttl), and than
/// [`clock_difference`](RedlockBuilder::clock_difference) and a second, has no vote. It is recognised by its run id and
/// by how long it says it has been up, whenever a connection is made. **Five new servers therefore grant nothing for the
/// first minute**, unless told otherwise.
///
/// All that the rule needs is that every client of the nodes keeps to it, with the same `max_ttl`.
///
/// It cannot recognise a `FLUSHALL`, a replica that is promoted under the same address, or that lets a primary forget,
/// nor keys that were evicted: give the nodes no replicas, and `noeviction`. Nor can it recognise a virtual machine
/// that was set back to a snapshot, where the server keeps its run id, nor a restarted server whose clock is set
/// forward before a client first meets it: a server tells by the time of day how long it has been up, and only clients
/// that have met it before that count by their own clocks.
///
/// A server whose clock is set forward ends the leases that it keeps. One such node does no harm to a lock that all
/// nodes have granted. A lock that was acquired while others were down may be granted a second time, as any lock may
/// when a majority of clocks is set forward: then the fencing tokens are what refuses the older holder.
///
/// # Other nodes
///
/// Each node is a server of its own. Two names that lead to one server, at first or later, are recognised by its run id:
/// only one of them has a vote. A replica, and a member of a Cluster, has none.
///
/// Clients that name different nodes do not exclude each other. To replace one of them, stop it, wait for `max_ttl`,
/// start its successor *under the same name*, and let it stay out as above. To go from three nodes to five, or to
/// move them all, stop all clients, wait for `max_ttl`, and start them with the new list; tokens go on growing as the
/// time of day does.
///
/// # Keys and rights
///
/// As those of [`Redis`](super::redis::Redis), with `{K}:lh1:line`, `{K}:lh1:places` and `{K}:lh1:turn` in place of `queue` and `leases`.
pub struct Redlock {
    members: Arc<[Arc<QuorumNode>]>,
    /// The same for all nodes: a channel of one name on each.
    waiters: WaiterRegistry,
    settings: Settings,
    attempts: RedlockAttempts,
}

impl Redlock {
    fn of(members: Vec<Arc<QuorumNode>>, waiters: WaiterRegistry, settings: Settings) -> Self {
        Self {
            members: members.into(),
            waiters,
            settings,
            attempts: RedlockAttempts::default(),
        }
    }
}

#[async_trait]
impl Backend for Redlock {
    fn capabilities(&self) -> Capabilities {
        let Settings { max_ttl, .. } = self.settings;
        Capabilities::new(self.settings.least_ttl()).with_most_ttl(max_ttl)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        if attempt.mode != Mode::Exclusive || attempt.handover.is_some() {
            let refusal = "Redlock has exclusive locks only, and they cannot be handed over";
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
        Err(BackendError::not_applied("Redlock has exclusive locks only").permanent())
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        match self.end(&claim.key, claim.owner).await? {
            true => Ok(ReleaseAnswer::Released),
            false => Ok(ReleaseAnswer::AlreadyGone),
        }
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let ended = self.end(&attempt.key, attempt.owner).await;
        ended.map(drop)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        inspect::inspect(&self.members, key, self.settings.node_timeout).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        inspect::force_release(&self.members, key, self.settings.node_timeout).await
    }

    async fn interrupted(&self, _seen: u64) -> u64 {
        // A node that was away for a while ends no lease: a majority does, and renewals tell.
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
    use crate::FencingToken;
    use crate::backend::{Applied, Handover, HandoverSecret};

    #[tokio::test]
    async fn what_it_does_not_have_is_refused_and_a_node_that_was_away_interrupts_nobody() {
        let waiters = WaiterRegistry::new();
        let members = QuorumNode::unreachable(3, &waiters);
        let redlock = Redlock::of(members, waiters, Settings::default());
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
