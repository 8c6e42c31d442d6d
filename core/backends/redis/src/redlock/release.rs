//! Releases on all nodes, confirmed by a majority. The client retries the release on a node that does not confirm it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use scopeguard::{ScopeGuard, guard};

use super::Redlock;
use super::asked_nodes::Round;
use super::attempt_in_process::RedlockAttempt;
use super::majority_count::{MajorityCount, MajorityDecision, no_quorum};
use super::node_scripts::NodeRelease;
use super::pending_node_requests::NodeRequests;
use super::quorum_node::QuorumNode;
use super::release_backlog::PendingNodeRelease;
use crate::protocol::reply;
use leasehold_core::backend::support::runtime::timeout;
use leasehold_core::backend::{Attempt, BackendError};
use leasehold_core::{AttemptId, Key};

impl Redlock {
    /// Undoes a failed round, in the background.
    pub(super) fn abandon(&self, attempt: &Attempt, round: &Arc<Round>) {
        self.undo(attempt, round).go_on();
    }

    pub(super) fn undo(
        &self,
        attempt: &Attempt,
        round: &Arc<Round>,
    ) -> NodeRequests<(usize, Result<bool, BackendError>)> {
        let pending = PendingNodeRelease::new(&attempt.key, round, None, self.settings.max_ttl);
        self.send_release(pending)
    }

    /// Sends the end of a round to all nodes that may have received the round.
    fn send_release(
        &self,
        pending: PendingNodeRelease,
    ) -> NodeRequests<(usize, Result<bool, BackendError>)> {
        let limit = self.settings.node_timeout;
        let release = Arc::new(NodeRelease::new(pending));
        NodeRequests::new(self.members.iter().map(|member| {
            let (member, release) = (Arc::clone(member), Arc::clone(&release));
            async move { (member.place, member.release(limit, &release).await) }
        }))
    }

    /// Ends the owner's lock and queue positions. Returns false only if definitely no majority granted the owner the
    /// lock.
    pub(super) async fn end(
        &self,
        key: &Key,
        owner: AttemptId,
        rounds: &RedlockAttempt,
    ) -> Result<bool, BackendError> {
        self.waiters.remove(key, owner);
        let round = rounds.last();
        let pending = PendingNodeRelease::new(key, &round, Some(owner), self.settings.max_ttl);
        let mut asked = self.send_release(pending);
        let mut tally = MajorityCount::of(self.members.len());
        while tally.verdict().is_none()
            && let Some((place, left)) = asked.next().await
        {
            tally.count(place, left);
        }
        let verdict = tally.verdict();
        if verdict.is_none() && !tally.is_quorate() {
            return Err(no_quorum(
                &self.members,
                tally.answered(),
                tally.into_failures(),
            ));
        }
        Ok(verdict != Some(MajorityDecision::No))
    }
}

impl QuorumNode {
    /// Ends the round and its waiter's position on this node. Returns whether the round held the lock. If the client
    /// cannot reach the node, the release stays pending.
    pub(super) async fn release(
        &self,
        limit: Duration,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        let round = &release.pending.round;
        let (concerned, settled) = match release.pending.waiter {
            // Each round of the attempt may have queued the waiter, and may still do so.
            Some(_) => (
                round.may_wait_at(self.place),
                round.attempt_is_settled(self.place),
            ),
            None => (round.was_asked(self.place), round.is_settled(self.place)),
        };
        if !concerned {
            return Ok(false);
        }
        // If this future is dropped, or the node does not confirm the release, the release stays pending.
        let unconfirmed = guard(self, |member| {
            member.backlog.push_pending(release.pending.clone());
            member.watch();
        });
        let mut left = self.try_release(limit, release).await;
        if !settled && !matches!(left, Ok(true)) {
            // The request may have arrived after the release. If the request may still arrive, a tombstone makes the
            // node refuse it.
            left = Box::pin(self.send_again(limit, release)).await;
        }
        if left.as_ref().map_or_else(|e| self.refuses_it(e), |_| true) {
            ScopeGuard::into_inner(unconfirmed);
        }
        left
    }

    async fn send_again(
        &self,
        limit: Duration,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        let round = &release.pending.round;
        let settled = async {
            match release.pending.waiter {
                Some(_) => round.attempt_settled(self.place).await,
                None => round.settled(self.place).await,
            }
        };
        if let Some(settled) = timeout(limit * 2, settled) {
            // The task that drives the request may have ended, so this sends the release after a timeout, too.
            let _in_time = settled.await;
        }
        self.try_release(limit, release).await
    }

    /// Returns whether a node refuses a release permanently. Such a release does not stay pending. A node that refuses
    /// the connection has not received the release, and the operator may correct its password.
    pub(super) fn refuses_it(&self, error: &BackendError) -> bool {
        !error.is_temporary() && self.node.is_connected()
    }

    async fn try_release(
        &self,
        limit: Duration,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.send_release_once(release)))
            .await
    }

    pub(super) async fn send_release_once(
        &self,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        let unanswered = release.pending.round.unanswered(self.place);
        let latest_expiry = unanswered.latest_expiry();
        let answer = self.node.call(&release.command(latest_expiry)).await?;
        let answer: String = reply::read(answer)?;
        if answer == "unsealed" {
            return Err(BackendError::unknown(
                "the node has no memory left to record the end of a round",
            ));
        }
        unanswered.forget(latest_expiry);
        Ok(answer == "left")
    }
}
