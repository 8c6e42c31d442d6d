//! The state of one attempt in this process, across its rounds.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::asked_nodes::{Round, UnansweredNodes};
use crate::attempt_id::AttemptMap;
use crate::backend::Claim;
use crate::backend::redis::timing::WAITER_LEASE;
use crate::clock::{self, LeaseInstant};
use crate::sweep_limit::SweepLimit;
use crate::{AttemptId, FencingToken};

/// The smallest number of attempts at which the client removes unused attempts.
const SWEPT_FROM: usize = 64;

/// The rounds of one attempt, from the first round to the round that elected the attempt.
#[derive(Debug)]
pub(super) struct RedlockAttempt {
    owner: AttemptId,
    /// The time at which the attempt began to wait, by this machine's time of day.
    pub(super) since: u64,
    state: Mutex<AttemptRounds>,
}

#[derive(Debug)]
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
    forget_at: LeaseInstant,
}

impl RedlockAttempt {
    fn new(owner: AttemptId) -> Self {
        Self {
            owner,
            since: clock::micros_of_day(),
            state: Mutex::new(AttemptRounds {
                rounds: 0,
                asked: 0,
                open: Vec::new(),
                last: None,
                elected: None,
                floor: 0,
                splits: 0,
                forget_at: LeaseInstant::now(),
            }),
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
        let round = Arc::new(state.next(id));
        state.elected = None;
        state.last = Some(Arc::clone(&round));
        (round, unfinished)
    }

    pub(super) fn elected(&self, token: FencingToken) {
        let mut state = self.state.lock();
        state.splits = 0;
        state.elected = Some(token);
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
    /// where the attempt may be queued.
    pub(super) fn last(&self) -> Arc<Round> {
        let state = self.state.lock();
        let last = state.last.clone();
        last.unwrap_or_else(|| Arc::new(state.next(self.owner)))
    }

    /// Keeps the state for longer than any waiter or holder may be inactive.
    fn touch(&self, ttl: Duration) {
        let keep = (ttl * 4).max(WAITER_LEASE * 2);
        let mut state = self.state.lock();
        state.forget_at = state.forget_at.max(LeaseInstant::now().after(keep));
    }

    fn is_forgotten(&self) -> bool {
        self.state.lock().forget_at.has_passed()
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

    /// Creates a round that follows all completed rounds.
    fn next(&self, id: AttemptId) -> Round {
        Round::new(id, self.asked, self.open.clone())
    }
}

/// The attempts of this process.
#[derive(Debug, Default)]
pub(super) struct RedlockAttempts(Mutex<AttemptsByOwner>);

#[derive(Debug, Default)]
struct AttemptsByOwner {
    by_owner: AttemptMap<Arc<RedlockAttempt>>,
    sweep_limit: SweepLimit<SWEPT_FROM>,
}

impl RedlockAttempts {
    /// Returns the attempt's state, and keeps the state for longer than `ttl`.
    pub(super) fn of(&self, owner: AttemptId, ttl: Duration) -> Arc<RedlockAttempt> {
        let mut known = self.0.lock();
        let AttemptsByOwner {
            by_owner,
            sweep_limit,
        } = &mut *known;
        sweep_limit.sweep(by_owner, AttemptMap::len, |all| {
            all.retain(|_, it| !it.is_forgotten());
        });
        let pursuit = by_owner.entry(owner);
        let pursuit = pursuit.or_insert_with(|| Arc::new(RedlockAttempt::new(owner)));
        pursuit.touch(ttl);
        Arc::clone(pursuit)
    }

    /// Returns the id that the nodes use for a claim, if the nodes elected the claim's owner with the claim's token.
    pub(super) fn round_of(&self, claim: &Claim) -> Option<AttemptId> {
        let known = self.0.lock();
        let pursuit = known.by_owner.get(&claim.owner)?;
        pursuit.touch(claim.ttl);
        (pursuit.elected_with()? == claim.token).then(|| pursuit.last().id)
    }

    /// Returns the round of the owner that may have an effect on the nodes.
    pub(super) fn last_round(&self, owner: AttemptId) -> Arc<Round> {
        let known = self.0.lock();
        let pursuit = known.by_owner.get(&owner);
        let round = pursuit.map(|it| it.last());
        round.unwrap_or_else(|| Arc::new(Round::unknown(owner)))
    }

    pub(super) fn forget(&self, owner: AttemptId) {
        self.0.lock().by_owner.remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_new_round_keeps_the_nodes_and_tokens_of_earlier_rounds() {
        let owner = AttemptId::random();
        let pursuit = RedlockAttempt::new(owner);
        let (first, unfinished) = pursuit.round();
        assert!(first.id == owner && unfinished.is_none());
        drop(first.asking(0));
        pursuit.failed(7);
        let (second, unfinished) = pursuit.round();
        assert!(second.id != owner && unfinished.is_none());
        drop(second.asking(1));
        // The outcome of the second round is unknown.
        let (third, unfinished) = pursuit.round();
        assert_eq!(unfinished.map(|it| it.id), Some(second.id));
        let may_wait = [0, 1, 2].map(|place| third.may_wait_at(place));
        assert_eq!(may_wait, [true, true, false]);
        pursuit.failed(5);
        assert_eq!(pursuit.floor(), 7);
        let last = pursuit.last();
        assert!(last.id == owner && last.may_wait_at(0) && last.may_wait_at(1));
    }

    #[tokio::test]
    async fn the_end_of_an_attempt_waits_for_requests_of_earlier_rounds() {
        let pursuit = RedlockAttempt::new(AttemptId::random());
        let (first, _) = pursuit.round();
        let late = first.asking(0);
        pursuit.failed(0);
        let (second, _) = pursuit.round();
        let later = second.asking(1);
        for (place, is_settled) in [(0, true), (1, false)] {
            assert_eq!(second.is_settled(place), is_settled);
            assert!(!second.attempt_is_settled(place));
        }
        pursuit.failed(0);
        let last = pursuit.last();
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
            drop(pursuit.round().0.asking(0));
            pursuit.failed(0);
        }
        assert!(pursuit.state.lock().open.is_empty());
    }

    #[test]
    fn only_consecutive_split_votes_are_counted() {
        let pursuit = RedlockAttempt::new(AttemptId::random());
        assert_eq!([pursuit.split(), pursuit.split()], [1, 2]);
        pursuit.held_by_another();
        assert_eq!([pursuit.split(), pursuit.split()], [1, 2]);
        pursuit.elected(FencingToken::try_from(1).unwrap());
        assert_eq!(pursuit.split(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_is_removed_only_after_a_long_time_without_requests() {
        let (attempts, ttl) = (RedlockAttempts::default(), Duration::from_secs(60));
        let (lasting, others) = (AttemptId::random(), 4 * SWEPT_FROM);
        let others_come = |count| {
            for _ in 0..count {
                attempts.of(AttemptId::random(), ttl);
            }
        };
        let first = attempts.of(lasting, ttl);
        others_come(others);
        tokio::time::advance(ttl * 4 - Duration::from_secs(10)).await;
        others_come(2 * others);
        assert!(Arc::ptr_eq(&first, &attempts.of(lasting, ttl)));
        tokio::time::advance(Duration::from_secs(20)).await;
        others_come(4 * others);
        assert!(Arc::ptr_eq(&first, &attempts.of(lasting, ttl)));
        assert_eq!(attempts.0.lock().by_owner.len(), 1 + 6 * others);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_attempt_is_kept_for_its_waiter_lease_despite_a_short_ttl() {
        let (attempts, ttl) = (RedlockAttempts::default(), Duration::from_secs(1));
        let waiting = AttemptId::random();
        let first = attempts.of(waiting, ttl);
        tokio::time::advance(WAITER_LEASE).await;
        for _ in 0..=SWEPT_FROM {
            attempts.of(AttemptId::random(), ttl);
        }
        assert!(Arc::ptr_eq(&first, &attempts.of(waiting, ttl)));
    }
}
