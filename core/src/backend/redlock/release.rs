//! Releases on all nodes, and confirms it by majority.

use std::sync::Arc;

use super::Redlock;
use super::in_flight::InFlightRequests;
use super::majority_count::{MajorityCount, MajorityDecision};
use super::no_quorum_error::no_quorum;
use super::release_backlog::PendingNodeRelease;
use super::request::NodeRelease;
use super::round_state::Round;
use crate::backend::{Attempt, BackendError};
use crate::{Key, OwnerId};

impl Redlock {
    /// Undoes a round that came to nothing, in the background.
    pub(super) fn abandon(&self, attempt: &Attempt, round: Arc<Round>) {
        self.undo(attempt, round).go_on();
    }

    pub(super) fn undo(
        &self,
        attempt: &Attempt,
        round: Arc<Round>,
    ) -> InFlightRequests<impl Future<Output = (usize, Result<bool, BackendError>)> + Send + 'static>
    {
        let pending = PendingNodeRelease::new(&attempt.key, round.id, None, self.settings.max_ttl);
        self.send_release(pending, round)
    }

    /// Asks all nodes that may know of a round to end it.
    fn send_release(
        &self,
        pending: PendingNodeRelease,
        round: Arc<Round>,
    ) -> InFlightRequests<impl Future<Output = (usize, Result<bool, BackendError>)> + Send + 'static>
    {
        let limit = self.settings.node_timeout;
        let release = Arc::new(NodeRelease::new(pending));
        InFlightRequests::within(limit, |limit| {
            self.members.iter().map(move |member| {
                let (member, release) = (Arc::clone(member), Arc::clone(&release));
                let (round, limit) = (Arc::clone(&round), limit.clone());
                async move { (member.place, member.release(&limit, &round, &release).await) }
            })
        })
    }

    /// Ends whatever the owner has: true unless it is sure that a majority did not hold the lock for it.
    pub(super) async fn end(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        self.waiters.leave(key, owner);
        let round = self.attempts.last_round(owner);
        let pending = PendingNodeRelease::new(key, round.id, Some(owner), self.settings.max_ttl);
        let mut asked = self.send_release(pending, round);
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
        self.attempts.forget(owner);
        Ok(verdict != Some(MajorityDecision::No))
    }
}
