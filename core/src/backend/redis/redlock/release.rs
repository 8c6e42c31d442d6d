//! Ending rounds, of which nothing must be left.

use std::sync::Arc;

use super::Redlock;
use super::asked::Asked;
use super::debts::Debt;
use super::quorum::no_quorum;
use super::request::Leave;
use super::round::Round;
use super::tally::{Tally, Verdict};
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
    ) -> Asked<impl Future<Output = (usize, Result<bool, BackendError>)> + Send + 'static> {
        let debt = Debt::new(&attempt.key, round.id, None, self.settings.max_ttl);
        self.leave(debt, round)
    }

    /// Asks all nodes that may know of a round to end it.
    fn leave(
        &self,
        debt: Debt,
        round: Arc<Round>,
    ) -> Asked<impl Future<Output = (usize, Result<bool, BackendError>)> + Send + 'static> {
        let limit = self.settings.node_timeout;
        let leave = Arc::new(Leave::new(debt));
        Asked::within(limit, |limit| {
            self.members.iter().map(move |member| {
                let (member, leave) = (Arc::clone(member), Arc::clone(&leave));
                let (round, limit) = (Arc::clone(&round), limit.clone());
                async move { (member.place, member.leave(&limit, &round, &leave).await) }
            })
        })
    }

    /// Ends whatever the owner has: true unless it is sure that a majority did not hold the lock for it.
    pub(super) async fn end(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        self.inbox.leave(key, owner);
        let round = self.pursuits.last_round(owner);
        let debt = Debt::new(key, round.id, Some(owner), self.settings.max_ttl);
        let mut asked = self.leave(debt, round);
        let mut tally = Tally::of(self.members.len());
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
        self.pursuits.forget(owner);
        Ok(verdict != Some(Verdict::No))
    }
}
