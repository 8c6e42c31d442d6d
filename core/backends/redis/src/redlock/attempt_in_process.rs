//! The state of one attempt in this process, across its rounds.

use std::sync::Arc;

use parking_lot::Mutex;

use super::asked_nodes::{Round, UnansweredNodes, none_of};
use crate::protocol::unanswered_requests::UnansweredRequests;
use leasehold_core::backend::support::clock;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::{AttemptId, FencingToken};

/// The rounds of one attempt, from the first round to the round that elected the attempt.
#[derive(Debug)]
pub(super) struct RedlockAttempt {
    owner: AttemptId,
    /// The time at which the attempt began to wait, by this machine's time of day.
    pub(super) since: u64,
    /// The requests under the attempt's own id without a reply, by node.
    unanswered: Arc<[UnansweredRequests]>,
    state: Mutex<AttemptRounds>,
}

#[derive(Debug, Default)]
struct AttemptRounds {
    rounds: u32,
    /// The nodes that received requests in completed rounds, one bit each.
    asked: u32,
    /// The pending requests to these nodes.
    open: Vec<Arc<UnansweredNodes>>,
    last: Option<Arc<Round>>,
    /// The token under which the last round elected its owner.
    elected: Option<FencingToken>,
    /// The minimum of the next token.
    floor: u64,
    /// The number of consecutive rounds that elected no holder.
    splits: u32,
}

impl RedlockAttempt {
    /// Returns the rounds of this attempt in this process.
    pub(super) fn of(attempt: &Attempt, nodes: usize) -> Arc<Self> {
        attempt.state(|| Self::new(attempt.owner, nodes))
    }

    /// Returns the rounds of this claim's attempt in this process.
    pub(super) fn of_claim(claim: &Claim, nodes: usize) -> Arc<Self> {
        claim.state(|| Self::new(claim.owner, nodes))
    }

    fn new(owner: AttemptId, nodes: usize) -> Self {
        Self {
            owner,
            since: clock::micros_of_day(),
            unanswered: none_of(nodes),
            state: Mutex::default(),
        }
    }

    /// Returns a round to run. Also returns the earlier round, if that round was never completed or has lost its
    /// majority.
    pub(super) fn round(&self) -> (Arc<Round>, Option<Arc<Round>>) {
        let mut state = self.state.lock();
        // The first round uses the attempt's own id, so inspections usually return this id.
        let id = match state.rounds {
            0 => self.owner,
            _ => AttemptId::random().labelled(self.owner.label()),
        };
        state.rounds += 1;
        let unfinished = state.finish();
        let round = Arc::new(self.next(&state, id));
        state.elected = None;
        state.last = Some(Arc::clone(&round));
        (round, unfinished)
    }

    pub(super) fn elected(&self, token: FencingToken) {
        let mut state = self.state.lock();
        state.splits = 0;
        state.elected = Some(token);
    }

    /// Returns the id that the nodes use for a claim, if the nodes elected the claim's owner with the claim's token.
    pub(super) fn round_of(&self, claim: &Claim) -> Option<AttemptId> {
        (self.elected_with()? == claim.token).then(|| self.last().id)
    }

    /// Returns the token of the round that elected its owner.
    pub(super) fn elected_with(&self) -> Option<FencingToken> {
        self.state.lock().elected
    }

    /// Records that the last round is over.
    pub(super) fn failed(&self, floor: u64) {
        let mut state = self.state.lock();
        state.floor = state.floor.max(floor);
        state.finish();
    }

    pub(super) fn floor(&self) -> u64 {
        self.state.lock().floor
    }

    /// Returns the number of consecutive rounds that elected no holder, including this round.
    pub(super) fn split(&self) -> u32 {
        let mut state = self.state.lock();
        state.splits = state.splits.saturating_add(1);
        state.splits
    }

    pub(super) fn held_by_another(&self) {
        self.state.lock().splits = 0;
    }

    /// Returns the round that may still have a grant on the nodes. If no round has one, returns a round with the nodes
    /// where the attempt may be queued. If no round has begun in this process, every node may have received one.
    pub(super) fn last(&self) -> Arc<Round> {
        let state = self.state.lock();
        let last = state.last.clone();
        last.unwrap_or_else(|| match state.rounds {
            0 => Arc::new(Round::unknown(self.owner, self.unanswered.len())),
            _ => Arc::new(self.next(&state, self.owner)),
        })
    }

    /// Creates a round that follows all completed rounds.
    fn next(&self, state: &AttemptRounds, id: AttemptId) -> Round {
        let unanswered = match id == self.owner {
            true => Arc::clone(&self.unanswered),
            false => none_of(self.unanswered.len()),
        };
        Round::new(id, unanswered, state.asked, state.open.clone())
    }
}

impl AttemptRounds {
    /// Records the nodes of the last round, and its pending requests.
    fn finish(&mut self) -> Option<Arc<Round>> {
        let last = self.last.take()?;
        self.asked |= last.asked();
        self.open.push(Arc::clone(last.open()));
        self.open.retain(|it| !it.is_over());
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_new_round_keeps_the_nodes_and_tokens_of_earlier_rounds() {
        let owner = AttemptId::random();
        let rounds = RedlockAttempt::new(owner, 3);
        let (first, unfinished) = rounds.round();
        assert!(first.id == owner && unfinished.is_none());
        drop(first.asking(0));
        rounds.failed(7);
        let (second, unfinished) = rounds.round();
        assert!(second.id != owner && unfinished.is_none());
        drop(second.asking(1));
        // The outcome of the second round is unknown.
        let (third, unfinished) = rounds.round();
        assert_eq!(unfinished.map(|it| it.id), Some(second.id));
        let may_wait = [0, 1, 2].map(|place| third.may_wait_at(place));
        assert_eq!(may_wait, [true, true, false]);
        rounds.failed(5);
        assert_eq!(rounds.floor(), 7);
        let last = rounds.last();
        assert!(last.id == owner && last.may_wait_at(0) && last.may_wait_at(1));
    }

    #[tokio::test]
    async fn the_end_of_an_attempt_waits_for_requests_of_earlier_rounds() {
        let rounds = RedlockAttempt::new(AttemptId::random(), 3);
        let (first, _) = rounds.round();
        let late = first.asking(0);
        rounds.failed(0);
        let (second, _) = rounds.round();
        let later = second.asking(1);
        for (place, is_settled) in [(0, true), (1, false)] {
            assert_eq!(second.is_settled(place), is_settled);
            assert!(!second.attempt_is_settled(place));
        }
        rounds.failed(0);
        let last = rounds.last();
        let settled = |place| {
            let is_settled = last.attempt_settled(place).now_or_never().is_some();
            assert_eq!(is_settled, last.attempt_is_settled(place));
            is_settled
        };
        assert_eq!([0, 1, 2].map(settled), [false, false, true]);
        drop(late);
        assert_eq!([0, 1, 2].map(settled), [true, false, true]);
        drop(later);
        assert_eq!([0, 1, 2].map(settled), [true, true, true]);
        for _ in 0..100 {
            drop(rounds.round().0.asking(0));
            rounds.failed(0);
        }
        assert!(rounds.state.lock().open.is_empty());
    }

    #[test]
    fn only_consecutive_split_votes_are_counted() {
        let rounds = RedlockAttempt::new(AttemptId::random(), 3);
        assert_eq!([rounds.split(), rounds.split()], [1, 2]);
        rounds.held_by_another();
        assert_eq!([rounds.split(), rounds.split()], [1, 2]);
        rounds.elected(FencingToken::try_from(1).unwrap());
        assert_eq!(rounds.split(), 1);
    }
}
