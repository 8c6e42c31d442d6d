//! Passing a lock on inside a process, with the answer to a release: what waits there need not ask.
//!
//! A release names the waiter of its process that has waited longest. If that one is also the next in line on the
//! server, the script does at once what its grant and its confirmation would do, and the answer brings its token. If
//! nobody stands in line, and the named one waits at the porch, the script does what its attempt would do. A
//! release that is answered with anything else has passed nothing on, and one that is not answered may have: the waiter
//! looks then, and is answered as any second copy is.
//!
//! Whoever has been passed the lock has it, as a holder has whose answer is under way: a waiter that is not polled keeps
//! it from others for as long as its TTL.

use std::time::Duration;

use super::Redis;
use super::timing::GRANT_TTL;
use crate::backend::redis::protocol::release_command::Successor;
use crate::backend::redis::protocol::reply::HandoffOutcome;
use crate::backend::redis::protocol::unanswered_requests::InFlightRequest;
use crate::backend::redis::wait::local_waiter::{LocalGrant, LocalWaiter};
use crate::backend::redis::wait::parked_waiters::ParkedWaiter;
use crate::backend::redis::wait::waiter_registry::NextWaiter;
use crate::backend::{Attempt, AttemptAnswer, Mode};
use crate::clock::LeaseInstant;
use crate::{Key, OwnerId, metrics};

/// Who wants an answer sooner than that stands in line at once.
const IN_A_HURRY: Duration = Duration::from_millis(100);

impl Redis {
    /// The TTL of an attempt that the lock can be passed on to. Others have more to say than that, or more to wait for, or
    /// would have less time to take it than to confirm it.
    pub(super) fn can_be_granted(&self, attempt: &Attempt) -> Option<Duration> {
        let plain = attempt.mode == Mode::Exclusive && attempt.handover.is_none();
        let lasts = attempt.ttl >= GRANT_TTL;
        (plain && lasts && self.synced.is_none()).then_some(attempt.ttl)
    }

    /// The grant of an attempt that the lock was passed on to. Its lease counts from when that was sent, so that what
    /// is left of it is told, and less than that by the margin that is left for clocks that differ. Where not much is
    /// left the server is asked again, which sets the TTL anew.
    pub(super) fn passed_on(attempt: &Attempt, waiter: &LocalWaiter) -> Option<AttemptAnswer> {
        let LocalGrant { token, sent } = waiter.take_grant()?;
        let age = LeaseInstant::now().since(sent);
        let lease = attempt.ttl.saturating_sub(age + age / 50);
        (lease >= attempt.ttl / 2).then(|| {
            metrics::passed_on();
            AttemptAnswer::Granted { token, lease }
        })
    }

    /// The grant of an attempt that need not stand in line, for a release of this process has asked on its behalf.
    pub(super) async fn parked_grant(&self, attempt: &Attempt) -> Option<AttemptAnswer> {
        let Attempt { key, owner, .. } = attempt;
        let ttl = self.can_be_granted(attempt).filter(|_| attempt.queue)?;
        if attempt.answer_within < IN_A_HURRY {
            return None;
        }
        if self.waiters.wake_ups(*owner).is_some() {
            return None;
        }
        let passed = self.parked.wait(&self.copies, key, *owner, ttl).await?;
        metrics::passed_on();
        // It was asked for after the attempt had begun, from when on the lease counts.
        Some(AttemptAnswer::Granted {
            token: passed.token,
            lease: ttl,
        })
    }

    /// Begins a release, which may pass the lock on.
    ///
    /// Where copies of the owner's requests are to be refused nobody can be asked for.
    pub(super) fn passing<'a>(
        &'a self,
        key: &'a Key,
        owner: OwnerId,
        latest_expiry: u64,
    ) -> LocalHandoff<'a> {
        let sent = LeaseInstant::now();
        self.parked.forget(owner);
        let to = match self.waiters.successor(key) {
            Some(next) => {
                self.parked.transfer(key, owner, next.owner);
                Some(HandoffTarget::InLine(next))
            }
            None => {
                let expiry = self.copies.expiry_at(sent).filter(|_| latest_expiry == 0);
                self.calling(key, owner, expiry)
            }
        };
        LocalHandoff {
            redis: self,
            key,
            to,
            sent,
        }
    }

    fn calling(&self, key: &Key, owner: OwnerId, expiry: Option<u64>) -> Option<HandoffTarget<'_>> {
        let caller = self.parked.next(key, owner, expiry)?;
        let expiry = expiry?;
        Some(HandoffTarget::AtThePorch {
            copy: self.copies.sending(caller.owner, expiry),
            expiry,
            interruptions: self.waiters.interruptions(),
            caller,
        })
    }
}

/// A release under way, and whom it names.
#[derive(Debug)]
pub(super) struct LocalHandoff<'a> {
    redis: &'a Redis,
    key: &'a Key,
    to: Option<HandoffTarget<'a>>,
    sent: LeaseInstant,
}

#[derive(Debug)]
enum HandoffTarget<'a> {
    InLine(NextWaiter),
    AtThePorch {
        /// Noted before the caller goes on.
        copy: InFlightRequest<'a>,
        expiry: u64,
        interruptions: u64,
        caller: ParkedWaiter,
    },
}

impl HandoffTarget<'_> {
    fn owner(&self) -> OwnerId {
        match self {
            Self::InLine(next) => next.owner,
            Self::AtThePorch { caller, .. } => caller.owner,
        }
    }
}

impl LocalHandoff<'_> {
    pub(super) fn named(&self) -> Option<Successor> {
        Some(match self.to.as_ref()? {
            HandoffTarget::InLine(next) => Successor {
                owner: next.owner,
                ttl: next.ttl,
                expiry: None,
            },
            HandoffTarget::AtThePorch { caller, expiry, .. } => Successor {
                owner: caller.owner,
                ttl: caller.ttl,
                expiry: Some(*expiry),
            },
        })
    }

    /// Tells the named waiter, if the lock was passed on to it, and all of its process if the server has forgotten them.
    pub(super) fn answered(mut self, outcome: HandoffOutcome) {
        let Some(to) = self.to.take() else {
            return;
        };
        if outcome == HandoffOutcome::Unawaited {
            self.redis.waiters.requeue_all(self.key);
        }
        let HandoffOutcome::Passed(token) = outcome else {
            let owner = to.owner();
            if let HandoffTarget::AtThePorch { copy, caller, .. } = to {
                copy.answered();
                caller.asks();
            }
            self.redis.parked.wake_all(self.key, owner);
            return;
        };
        let passed = LocalGrant {
            token,
            sent: self.sent,
        };
        let waiters = &self.redis.waiters;
        match to {
            HandoffTarget::InLine(next) => {
                if !waiters.pass(self.key, next, passed) {
                    self.redis.parked.wake_all(self.key, next.owner);
                }
            }
            // Another server may be in charge: it asks.
            HandoffTarget::AtThePorch {
                copy,
                caller,
                interruptions,
                ..
            } if interruptions != waiters.interruptions() => {
                let owner = caller.owner;
                drop(copy);
                caller.asks();
                self.redis.parked.wake_all(self.key, owner);
            }
            HandoffTarget::AtThePorch { copy, caller, .. } => {
                copy.answered();
                caller.pass(passed);
            }
        }
    }
}

impl Drop for LocalHandoff<'_> {
    fn drop(&mut self) {
        // Nobody has heard the answer, and it may have been this waiter's turn.
        let Some(to) = self.to.take() else {
            return;
        };
        let owner = to.owner();
        match to {
            HandoffTarget::InLine(next) => self.redis.waiters.wake_one(next.owner),
            HandoffTarget::AtThePorch { copy, caller, .. } => {
                drop(copy);
                caller.asks();
            }
        }
        self.redis.parked.wake_all(self.key, owner);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::FencingToken;

    const TTL: Duration = Duration::from_secs(10);

    fn passed() -> (Attempt, LocalWaiter) {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, true);
        let waiter = LocalWaiter::new(Some(TTL));
        let token = FencingToken::try_from(7).unwrap();
        let sent = LeaseInstant::now();
        waiter.pass(LocalGrant { token, sent });
        (attempt, waiter)
    }

    fn lease(attempt: &Attempt, waiter: &LocalWaiter) -> Option<Duration> {
        match Redis::passed_on(attempt, waiter)? {
            AttemptAnswer::Granted { lease, .. } => Some(lease),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_counts_from_the_sending_of_the_release() {
        let age = Duration::from_secs(4);
        let (attempt, waiter) = passed();
        advance(age).await;
        let left = lease(&attempt, &waiter).unwrap();
        assert!(left <= TTL - age, "{left:?}");
        assert!(left > TTL - age - Duration::from_millis(100), "{left:?}");
        assert!(lease(&attempt, &waiter).is_none(), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn where_not_much_is_left_the_server_is_asked() {
        let (attempt, waiter) = passed();
        advance(TTL / 2).await;
        assert!(lease(&attempt, &waiter).is_none());
    }
}
