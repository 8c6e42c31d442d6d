use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::queue::{Queue, REFRESH};
use super::token::Tokens;
use crate::backend::{
    Attempt, AttemptAnswer, BackendError, Claim, Inspection, ReleaseAnswer, RenewAnswer,
};
use crate::{FencingToken, OwnerId};

/// How long a waiter that was handed the lock has to confirm it.
const GRANT_TTL: Duration = Duration::from_secs(2);

/// The state of one key.
#[derive(Debug, Default)]
pub(super) struct Entry {
    holder: Option<Holder>,
    queue: Queue,
}

#[derive(Debug)]
struct Holder {
    owner: OwnerId,
    expires: Instant,
    /// None while the owner was handed the lock and has not confirmed it.
    token: Option<FencingToken>,
}

impl Entry {
    pub(super) fn attempt(
        &mut self,
        attempt: &Attempt,
        now: Instant,
        tokens: &mut Tokens,
    ) -> Result<AttemptAnswer, BackendError> {
        self.settle(now);
        let confirmed = match &self.holder {
            Some(holder) if holder.owner == attempt.owner => holder.token,
            Some(holder) => {
                let expires_in = holder.expires - now;
                let first = attempt.queue && self.queue.enter(attempt.owner, now);
                return Ok(AttemptAnswer::Busy {
                    retry_after: if first {
                        expires_in.min(REFRESH)
                    } else {
                        REFRESH
                    },
                });
            }
            None => None,
        };
        let token = match confirmed {
            Some(token) => token,
            None => tokens.draw()?,
        };
        self.queue.remove(attempt.owner);
        self.holder = Some(Holder {
            owner: attempt.owner,
            expires: now + attempt.ttl,
            token: Some(token),
        });
        Ok(AttemptAnswer::Granted {
            token,
            lease: attempt.ttl,
        })
    }

    pub(super) fn renew(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        self.settle(now);
        match &mut self.holder {
            Some(holder) if holder.owner == claim.owner && holder.token == Some(claim.token) => {
                holder.expires = now + claim.ttl;
                RenewAnswer::Extended { lease: claim.ttl }
            }
            _ => RenewAnswer::Gone,
        }
    }

    pub(super) fn release(&mut self, claim: &Claim, now: Instant) -> ReleaseAnswer {
        self.settle(now);
        if self.is_held_by(claim.owner) {
            self.hand_on(now);
            ReleaseAnswer::Released
        } else {
            ReleaseAnswer::AlreadyGone
        }
    }

    pub(super) fn cleanup(&mut self, owner: OwnerId, now: Instant) {
        self.settle(now);
        self.queue.remove(owner);
        if self.is_held_by(owner) {
            self.hand_on(now);
        }
    }

    pub(super) fn force_release(&mut self, now: Instant) -> bool {
        self.settle(now);
        let held = self.holder.is_some();
        self.hand_on(now);
        held
    }

    pub(super) fn inspect(&mut self, now: Instant) -> Inspection {
        self.settle(now);
        let handed_on = self.holder.as_ref().is_some_and(|h| h.token.is_none());
        Inspection {
            owner: self.holder.as_ref().map(|h| h.owner.to_string()),
            token: self.holder.as_ref().and_then(|h| h.token),
            expires_in: self.holder.as_ref().map(|h| h.expires - now),
            waiting: self.queue.len() - usize::from(handed_on),
        }
    }

    pub(super) fn wake_up(&self, owner: OwnerId) -> Option<Arc<Notify>> {
        self.queue.wake_up(owner)
    }

    /// Nobody holds and nobody waits: the entry can be forgotten.
    pub(super) fn is_idle(&self) -> bool {
        self.holder.is_none() && self.queue.len() == 0
    }

    /// Lets what has run out be over. Afterwards a key without a holder has no live waiter either,
    /// so that whoever finds it free takes it from nobody.
    pub(super) fn settle(&mut self, now: Instant) {
        self.queue.drop_silent(now);
        if self.holder.as_ref().is_none_or(|h| h.expires <= now) {
            self.hand_on(now);
        }
    }

    fn hand_on(&mut self, now: Instant) {
        let expires = now + GRANT_TTL;
        self.holder = self.queue.wake_first(expires).map(|owner| Holder {
            owner,
            expires,
            token: None,
        });
    }

    fn is_held_by(&self, owner: OwnerId) -> bool {
        self.holder.as_ref().is_some_and(|h| h.owner == owner)
    }
}
