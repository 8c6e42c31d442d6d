//! One key's holders and waiters.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use smallvec::SmallVec;

use super::Step;
use super::wait_queue::WaitQueue;
use crate::backend::{
    Attempt, AttemptAnswer, BackendError, Claim, HandoverSecret, HolderInfo, Inspection, Mode,
    Outcome, Refusal, ReleaseAnswer, RenewAnswer,
};
use crate::{AttemptId, FencingToken};

/// The state of one key: its holders, its waiters and its recorded outcome.
///
/// Each method does the same as the method of [`Backend`](crate::backend::Backend) with the same name, for one key. If a
/// method returns an error, discard the state.
///
/// A backend in memory can keep a value `W` with each waiter, such as a handle with which to notify the waiter. The
/// encoding does not contain these values.
#[derive(Debug, Clone, Default)]
pub struct KeyState<W = ()> {
    /// One holder, or several holders with compatible modes.
    pub(super) holders: SmallVec<[Holder; 1]>,
    pub(super) queue: WaitQueue<W>,
    pub(super) recorded: Option<Box<Recorded>>,
}

/// The outcome of an earlier holder, and when it expires.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) outcome: Outcome,
    pub(super) until: Duration,
}

#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub(super) owner: AttemptId,
    pub(super) mode: Mode,
    pub(super) expires: Duration,
    /// `None` until the owner confirms the grant.
    pub(super) token: Option<FencingToken>,
    /// Whether the holder was exclusive, and has downgraded the lock.
    pub(super) downgraded: bool,
    /// The secret with which another attempt can accept the lock.
    pub(super) secret: Option<HandoverSecret>,
    /// The label of the owner's manager. `None` until the owner confirms the grant.
    pub(super) label: Option<Cow<'static, str>>,
}

impl Holder {
    fn info<W>(&self, step: &Step<'_, W>) -> HolderInfo {
        let label = self.label.as_deref().map(str::to_owned);
        HolderInfo::new(self.owner, self.mode, step.left_until(self.expires)).labelled(label)
    }
}

impl<W: Default> KeyState<W> {
    /// Acquires the lock, confirms a grant, or adds the attempt to the wait queue. Calls `draw_token` if the attempt
    /// needs a new token; see [`next_token`](super::next_token).
    ///
    /// # Errors
    ///
    /// Returns the error of `draw_token`. Returns a temporary error if the owner has downgraded its lock since it sent
    /// this request.
    pub fn attempt(
        &mut self,
        attempt: &Attempt,
        draw_token: impl FnOnce() -> Result<FencingToken, BackendError>,
        step: &mut Step<'_, W>,
    ) -> Result<AttemptAnswer, BackendError> {
        self.settle(step);
        if let Some(recorded) = self.recorded.as_ref().filter(|_| attempt.once) {
            let outcome = recorded.outcome.clone();
            self.cleanup(attempt.owner, step);
            return Ok(AttemptAnswer::Recorded(outcome));
        }
        if let Some(handover) = &attempt.handover
            && self.holder(attempt.owner).is_none()
        {
            let gives = |h: &&mut Holder| {
                let is_told = h.secret == Some(handover.secret) && h.token == Some(handover.token);
                is_told && h.mode == attempt.mode
            };
            let Some(holder) = self.holder(handover.giver).filter(gives) else {
                return Ok(AttemptAnswer::Refused(Refusal::HandoverSpent));
            };
            (holder.owner, holder.token, holder.secret) = (attempt.owner, None, None);
            holder.label = None;
        }
        if self
            .holder(attempt.owner)
            .is_some_and(|h| h.mode != attempt.mode)
        {
            return Err(BackendError::not_applied(
                "the request arrived after its lock was downgraded",
            ));
        }
        if self.holder(attempt.owner).is_none() {
            if self.holders.iter().any(|h| !h.mode.is_like(attempt.mode)) {
                return Ok(AttemptAnswer::Refused(Refusal::OtherKind));
            }
            if self.queue.is_before(attempt.owner, |w| self.holds(w)) || !self.fits(attempt.mode) {
                return Ok(self.busy(attempt, step));
            }
        }
        let token = match self.token_of(attempt) {
            Some(token) => token,
            None => draw_token()?,
        };
        let secret = self.holder(attempt.owner).and_then(|h| h.secret);
        self.queue.remove(attempt.owner);
        self.remove(attempt.owner);
        self.holders.push(Holder {
            owner: attempt.owner,
            mode: attempt.mode,
            expires: step.lease_end(attempt.ttl),
            token: Some(token),
            downgraded: false,
            secret,
            label: attempt.owner.label().map(Cow::Borrowed),
        });
        Ok(AttemptAnswer::Granted {
            token,
            lease: attempt.ttl,
        })
    }

    fn busy(&mut self, attempt: &Attempt, step: &Step<'_, W>) -> AttemptAnswer {
        let first = attempt.queue && self.queue.enter(attempt.owner, attempt.mode, step);
        let soonest = self.holders.iter().map(|h| h.expires - step.now).min();
        AttemptAnswer::Busy {
            retry_after: match soonest {
                Some(expires_in) if first => expires_in.min(step.timing.refresh),
                _ => step.timing.refresh,
            },
        }
    }

    /// Returns the token that this attempt already has, or the token of the readers that hold the lock. With a common
    /// token fences reject every earlier writer, and accept all of these readers.
    fn token_of(&self, attempt: &Attempt) -> Option<FencingToken> {
        let holders = self.holders.iter();
        match attempt.mode {
            Mode::Shared => {
                let readers = holders.filter(|h| !h.downgraded);
                readers.filter_map(|h| h.token).max()
            }
            _ => holders
                .filter(|h| h.owner == attempt.owner)
                .find_map(|h| h.token),
        }
    }

    /// Renews the lease of a holder under its token.
    pub fn renew(&mut self, claim: &Claim, step: &mut Step<'_, W>) -> RenewAnswer {
        self.settle(step);
        match self.holder(claim.owner) {
            Some(holder) if holder.token == Some(claim.token) => {
                holder.expires = step.lease_end(claim.ttl);
                RenewAnswer::Extended { lease: claim.ttl }
            }
            _ => RenewAnswer::Gone,
        }
    }

    /// Renews the lease of a holder under its token for the last time. Notifies the first waiter, because the lease
    /// usually ends earlier than that waiter expects.
    pub fn release_after(&mut self, claim: &Claim, step: &mut Step<'_, W>) -> RenewAnswer {
        let answer = self.renew(claim, step);
        if answer != RenewAnswer::Gone {
            self.queue.notify_first(step);
        }
        answer
    }

    /// Turns an exclusive holder into a shared holder, and grants the lock to waiting readers.
    pub fn downgrade(&mut self, claim: &Claim, step: &mut Step<'_, W>) -> RenewAnswer {
        let answer = self.renew(claim, step);
        if let Some(holder) = self.holder(claim.owner).filter(|h| h.token.is_some()) {
            (holder.mode, holder.downgraded) = (Mode::Shared, true);
            self.grant_next(step);
        }
        answer
    }

    /// Renews the lease of an exclusive holder, and allows one attempt with `secret` to accept the lock.
    pub fn hand_over(
        &mut self,
        claim: &Claim,
        secret: HandoverSecret,
        step: &mut Step<'_, W>,
    ) -> RenewAnswer {
        self.settle(step);
        let alone = |h: &&mut Holder| h.token == Some(claim.token) && h.mode == Mode::Exclusive;
        let Some(holder) = self.holder(claim.owner).filter(alone) else {
            return RenewAnswer::Gone;
        };
        (holder.expires, holder.secret) = (step.lease_end(claim.ttl), Some(secret));
        RenewAnswer::Extended { lease: claim.ttl }
    }

    /// Releases the lock of the claim's owner, and grants the lock to the next waiters.
    pub fn release(&mut self, claim: &Claim, step: &mut Step<'_, W>) -> ReleaseAnswer {
        self.settle(step);
        if self.holds(claim.owner) {
            self.remove(claim.owner);
            self.grant_next(step);
            ReleaseAnswer::Released
        } else {
            ReleaseAnswer::AlreadyGone
        }
    }

    /// Records the outcome of a holder under its token for `keep`, releases the lock, and notifies all waiters.
    pub fn record(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
        step: &mut Step<'_, W>,
    ) -> ReleaseAnswer {
        self.settle(step);
        let holds = |h: &&mut Holder| h.token == Some(claim.token);
        if self.holder(claim.owner).filter(holds).is_none() {
            let is_duplicate = |recorded: &Recorded| recorded.outcome.token == claim.token;
            return if self.recorded.as_deref().is_some_and(is_duplicate) {
                ReleaseAnswer::Released
            } else {
                ReleaseAnswer::AlreadyGone
            };
        }
        let (outcome, until) = (outcome.clone(), step.lease_end(keep));
        self.recorded = Some(Box::new(Recorded { outcome, until }));
        self.remove(claim.owner);
        self.queue.wake_all(step);
        ReleaseAnswer::Released
    }

    /// Deletes the recorded outcome. Returns false if there is none.
    pub fn forget(&mut self, step: &mut Step<'_, W>) -> bool {
        self.settle(step);
        self.recorded.take().is_some()
    }

    /// Removes an owner from the holders and from the waiters, and grants the lock to the next waiters.
    pub fn cleanup(&mut self, owner: AttemptId, step: &mut Step<'_, W>) {
        self.settle(step);
        self.queue.remove(owner);
        self.remove(owner);
        // The waiter that left may have blocked the waiters after it.
        self.grant_next(step);
    }

    /// Removes all holders, and grants the lock to the next waiters. Returns false if the lock was not held.
    pub fn force_release(&mut self, step: &mut Step<'_, W>) -> bool {
        self.settle(step);
        let held = !self.holders.is_empty();
        self.holders.clear();
        self.grant_next(step);
        held
    }

    /// Removes the holder with this [id](HolderInfo::id), and grants the lock to the next waiters. Returns false if the
    /// key does not have this holder.
    pub fn force_release_holder(&mut self, id: &str, step: &mut Step<'_, W>) -> bool {
        self.settle(step);
        let mut owners = self.holders.iter().map(|h| h.owner);
        let Some(owner) = owners.find(|owner| owner.to_string() == id) else {
            return false;
        };
        self.cleanup(owner, step);
        true
    }

    /// Returns the holders, the remaining times of their leases, and the number of waiters.
    pub fn inspect(&mut self, step: &mut Step<'_, W>) -> Inspection {
        self.settle(step);
        let handed_on = self.holders.iter().filter(|h| h.token.is_none()).count();
        let alone = self.holders.iter().find(|h| h.mode == Mode::Exclusive);
        let latest = self
            .holders
            .iter()
            .map(|h| step.left_until(h.expires))
            .max();
        let token = self.holders.iter().filter_map(|h| h.token).max();
        Inspection {
            owner: alone.map(|h| h.owner.to_string()),
            token,
            granted_at: token.map(FencingToken::generated_at),
            expires_in: latest,
            holders: self.holders.iter().map(|h| h.mode.size()).sum(),
            held_by: self.holders.iter().map(|h| h.info(step)).collect(),
            waiting: self.queue.len().saturating_sub(handed_on),
        }
    }

    /// Renews the positions of these waiters, if one of the positions has the age
    /// [`renew_after`](super::Timing::renew_after). Waiters with a grant must confirm it instead.
    ///
    /// If a waiter has not confirmed its grant in time, the waiters after it may have crashed, too. So these waiters, which
    /// are known to live, move to the front. The others must renew their positions within [`grant`](super::Timing::grant).
    ///
    /// Returns whether the backend has to store the state: if a position was renewed, or if a waiter received a grant,
    /// whose time begins when it is stored. Notify these waiters after the state is stored.
    pub fn keep_positions(&mut self, owners: &HashSet<AttemptId>, step: &mut Step<'_, W>) -> bool {
        let before: HashSet<AttemptId> = self.holders.iter().map(|it| it.owner).collect();
        let mut grants = self.holders.iter().filter(|it| it.token.is_none());
        let unconfirmed = grants.any(|it| it.expires <= step.now);
        if unconfirmed {
            self.queue.prefer(owners, step.now + step.timing.grant);
        }
        self.settle(step);
        let known =
            |it: &Holder| before.contains(&it.owner) || !unconfirmed && owners.contains(&it.owner);
        let granted = !self.holders.iter().all(known);
        let waiting: HashSet<AttemptId> = self.waiting().filter(|it| owners.contains(it)).collect();
        self.queue.keep(&waiting, step) || granted
    }

    /// Returns the waiters without a grant, in the order of the queue.
    pub fn waiting(&self) -> impl Iterator<Item = AttemptId> {
        let waiters = self.queue.iter().map(|it| it.owner);
        waiters.filter(|it| !self.holds(*it))
    }

    /// Returns the time at which the first lease or grant of a holder ends.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Duration> {
        self.holders.iter().map(|it| it.expires).min()
    }

    /// Returns the value that the backend keeps with a waiter; `None` if the owner does not wait.
    #[must_use]
    pub fn waiter(&self, owner: AttemptId) -> Option<&W> {
        self.queue.wake_up(owner)
    }

    /// Returns whether the owner is a holder, or has a grant that it has not confirmed.
    #[must_use]
    pub fn holds(&self, owner: AttemptId) -> bool {
        self.holders.iter().any(|h| h.owner == owner)
    }

    /// Returns the time at which the last lease, queue position or outcome ends, except for
    /// [`exclusive_lease`](Self::exclusive_lease). From then on the backend may delete the record.
    #[must_use]
    pub fn kept_until(&self) -> Duration {
        let shares = self.holders.iter();
        let shares = shares.filter(|h| h.mode != Mode::Exclusive || h.token.is_none());
        let ends = shares.map(|h| h.expires);
        let ends = ends.chain(self.queue.iter().map(|w| w.until));
        let ends = ends.chain(self.recorded.iter().map(|recorded| recorded.until));
        ends.max().unwrap_or_default()
    }

    /// Returns whether the key has no holders, waiters or recorded outcome. The backend can then delete the record.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.len() == 0 && self.recorded.is_none()
    }

    /// Removes expired holders and waiters, and grants the lock to waiters that nothing blocks now. So a newcomer
    /// cannot overtake a waiter. Every other method begins with this.
    pub fn settle(&mut self, step: &mut Step<'_, W>) {
        self.queue.drop_expired(step.now);
        let before = self.holders.len();
        self.holders.retain(|h| h.expires > step.now);
        self.recorded.take_if(|recorded| recorded.until <= step.now);
        let grant = match self.holders.len() == before {
            true => step.timing.grant,
            false => step.timing.grant_after_expiry,
        };
        self.grant_for(grant, step);
    }

    /// Grants the lock to the first waiters with compatible modes. A waiter with an incompatible mode blocks the
    /// waiters after it, so that a writer does not wait forever for readers.
    fn grant_next(&mut self, step: &mut Step<'_, W>) {
        self.grant_for(step.timing.grant, step);
    }

    fn grant_for(&mut self, grant: Duration, step: &mut Step<'_, W>) {
        let expires = step.now + grant;
        let mut place = 0;
        while let Some((owner, mode)) = self.queue.at(place) {
            if !self.holds(owner) {
                if !self.fits(mode) {
                    return;
                }
                self.queue.wake(place, expires, step);
                self.holders.push(Holder {
                    owner,
                    mode,
                    expires,
                    token: None,
                    downgraded: false,
                    secret: None,
                    label: None,
                });
            }
            place += 1;
        }
    }

    fn fits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => self.holders.iter().all(|h| h.mode == Mode::Shared),
            Mode::Permits { count, of } => {
                let taken: usize = self.holders.iter().map(|h| h.mode.size()).sum();
                let room = taken + count as usize <= of as usize;
                room && self.holders.iter().all(|h| h.mode.is_like(mode))
            }
        }
    }

    pub(super) fn holder(&mut self, owner: AttemptId) -> Option<&mut Holder> {
        self.holders.iter_mut().find(|h| h.owner == owner)
    }

    fn remove(&mut self, owner: AttemptId) {
        self.holders.retain(|h| h.owner != owner);
    }
}
