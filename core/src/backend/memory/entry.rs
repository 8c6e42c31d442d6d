//! One key's holders and waiters.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::fencing_tokens::Tokens;
use super::wait_queue::{REFRESH, WaitQueue};
use crate::backend::{
    Attempt, AttemptAnswer, BackendError, Claim, HandoverSecret, Inspection, Mode, Outcome,
    Refusal, ReleaseAnswer, RenewAnswer,
};
use crate::{AttemptId, FencingToken};

/// The time within which a waiter must confirm a grant.
const GRANT_TTL: Duration = Duration::from_secs(2);

/// The state of one key.
#[derive(Debug, Default)]
pub(super) struct KeyState {
    /// One holder, or several holders with compatible modes.
    holders: SmallVec<[Holder; 1]>,
    queue: WaitQueue,
    recorded: Option<Box<Recorded>>,
}

/// The outcome of an earlier holder, and when it expires.
#[derive(Debug)]
struct Recorded {
    outcome: Outcome,
    until: Instant,
}

#[derive(Debug)]
struct Holder {
    owner: AttemptId,
    mode: Mode,
    expires: Instant,
    /// `None` until the owner confirms the grant.
    token: Option<FencingToken>,
    /// Whether the holder was exclusive, and has downgraded the lock.
    downgraded: bool,
    /// The secret with which another attempt can accept the lock.
    secret: Option<HandoverSecret>,
}

impl KeyState {
    pub(super) fn attempt(
        &mut self,
        attempt: &Attempt,
        now: Instant,
        tokens: &mut Tokens,
    ) -> Result<AttemptAnswer, BackendError> {
        self.settle(now);
        if let Some(recorded) = self.recorded.as_ref().filter(|_| attempt.once) {
            let outcome = recorded.outcome.clone();
            self.cleanup(attempt.owner, now);
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
                return Ok(self.busy(attempt, now));
            }
        }
        let token = match self.token_of(attempt) {
            Some(token) => token,
            None => tokens.draw()?,
        };
        let secret = self.holder(attempt.owner).and_then(|h| h.secret);
        self.queue.remove(attempt.owner);
        self.remove(attempt.owner);
        self.holders.push(Holder {
            owner: attempt.owner,
            mode: attempt.mode,
            expires: now + attempt.ttl,
            token: Some(token),
            downgraded: false,
            secret,
        });
        Ok(AttemptAnswer::Granted {
            token,
            lease: attempt.ttl,
        })
    }

    fn busy(&mut self, attempt: &Attempt, now: Instant) -> AttemptAnswer {
        let first = attempt.queue && self.queue.enter(attempt.owner, attempt.mode, now);
        let soonest = self.holders.iter().map(|h| h.expires - now).min();
        AttemptAnswer::Busy {
            retry_after: match soonest {
                Some(expires_in) if first => expires_in.min(REFRESH),
                _ => REFRESH,
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

    pub(super) fn renew(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        self.settle(now);
        match self.holder(claim.owner) {
            Some(holder) if holder.token == Some(claim.token) => {
                holder.expires = now + claim.ttl;
                RenewAnswer::Extended { lease: claim.ttl }
            }
            _ => RenewAnswer::Gone,
        }
    }

    pub(super) fn release_after(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        let answer = self.renew(claim, now);
        // The first waiter waits for the earlier end of this lease.
        self.queue.notify_first();
        answer
    }

    pub(super) fn downgrade(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        let answer = self.renew(claim, now);
        if let Some(holder) = self.holder(claim.owner).filter(|h| h.token.is_some()) {
            (holder.mode, holder.downgraded) = (Mode::Shared, true);
            self.grant_next(now);
        }
        answer
    }

    pub(super) fn hand_over(
        &mut self,
        claim: &Claim,
        secret: HandoverSecret,
        now: Instant,
    ) -> RenewAnswer {
        self.settle(now);
        let alone = |h: &&mut Holder| h.token == Some(claim.token) && h.mode == Mode::Exclusive;
        let Some(holder) = self.holder(claim.owner).filter(alone) else {
            return RenewAnswer::Gone;
        };
        (holder.expires, holder.secret) = (now + claim.ttl, Some(secret));
        RenewAnswer::Extended { lease: claim.ttl }
    }

    pub(super) fn release(&mut self, claim: &Claim, now: Instant) -> ReleaseAnswer {
        self.settle(now);
        if self.holds(claim.owner) {
            self.remove(claim.owner);
            self.grant_next(now);
            ReleaseAnswer::Released
        } else {
            ReleaseAnswer::AlreadyGone
        }
    }

    pub(super) fn record(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        now: Instant,
        until: Instant,
    ) -> ReleaseAnswer {
        self.settle(now);
        let holds = |h: &&mut Holder| h.token == Some(claim.token);
        if self.holder(claim.owner).filter(holds).is_none() {
            let is_duplicate = |recorded: &Recorded| recorded.outcome.token == claim.token;
            return if self.recorded.as_deref().is_some_and(is_duplicate) {
                ReleaseAnswer::Released
            } else {
                ReleaseAnswer::AlreadyGone
            };
        }
        let outcome = outcome.clone();
        self.recorded = Some(Box::new(Recorded { outcome, until }));
        self.remove(claim.owner);
        self.queue.wake_all();
        ReleaseAnswer::Released
    }

    pub(super) fn forget(&mut self, now: Instant) -> bool {
        self.settle(now);
        self.recorded.take().is_some()
    }

    pub(super) fn cleanup(&mut self, owner: AttemptId, now: Instant) {
        self.settle(now);
        self.queue.remove(owner);
        self.remove(owner);
        // The waiter that left may have blocked the waiters after it.
        self.grant_next(now);
    }

    pub(super) fn force_release(&mut self, now: Instant) -> bool {
        self.settle(now);
        let held = !self.holders.is_empty();
        self.holders.clear();
        self.grant_next(now);
        held
    }

    pub(super) fn inspect(&mut self, now: Instant) -> Inspection {
        self.settle(now);
        let handed_on = self.holders.iter().filter(|h| h.token.is_none()).count();
        let alone = self.holders.iter().find(|h| h.mode == Mode::Exclusive);
        let latest = self.holders.iter().map(|h| h.expires - now).max();
        Inspection {
            owner: alone.map(|h| h.owner.to_string()),
            token: self.holders.iter().filter_map(|h| h.token).max(),
            expires_in: latest,
            holders: self.holders.iter().map(|h| h.mode.size()).sum(),
            waiting: self.queue.len() - handed_on,
        }
    }

    pub(super) fn wake_up(&self, owner: AttemptId) -> Option<Arc<Notify>> {
        self.queue.wake_up(owner)
    }

    /// Returns whether the key has no holders, waiters or recorded outcome. The store can then remove the entry.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.len() == 0 && self.recorded.is_none()
    }

    /// Removes expired holders and waiters, and grants the lock to waiters that nothing blocks now. So a newcomer
    /// cannot overtake a waiter.
    pub(super) fn settle(&mut self, now: Instant) {
        self.queue.drop_expired(now);
        self.holders.retain(|h| h.expires > now);
        self.recorded.take_if(|recorded| recorded.until <= now);
        self.grant_next(now);
    }

    /// Grants the lock to the first waiters with compatible modes. A waiter with an incompatible mode blocks the
    /// waiters after it, so that a writer does not wait forever for readers.
    fn grant_next(&mut self, now: Instant) {
        let expires = now + GRANT_TTL;
        let mut place = 0;
        while let Some((owner, mode)) = self.queue.at(place) {
            if !self.holds(owner) {
                if !self.fits(mode) {
                    return;
                }
                self.queue.wake(place, expires);
                self.holders.push(Holder {
                    owner,
                    mode,
                    expires,
                    token: None,
                    downgraded: false,
                    secret: None,
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

    fn holder(&mut self, owner: AttemptId) -> Option<&mut Holder> {
        self.holders.iter_mut().find(|h| h.owner == owner)
    }

    fn holds(&self, owner: AttemptId) -> bool {
        self.holders.iter().any(|h| h.owner == owner)
    }

    fn remove(&mut self, owner: AttemptId) {
        self.holders.retain(|h| h.owner != owner);
    }
}
