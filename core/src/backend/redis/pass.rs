//! Passing a lock on inside a process, with the answer to a release: what waits there need not ask.
//!
//! A release names the waiter of its process that has waited longest. If that one is also the next in line on the
//! server, the script does at once what its grant and its confirmation would do, and the answer brings its token. A
//! release that is answered with anything else has passed nothing on, and one that is not answered may have: the waiter
//! finds out when it looks, as the first of its process soon does, and is answered as any second copy is.
//!
//! What was passed on is taken, or given back in the waiter's name when it has not been taken for as long as a waiter
//! that is handed the lock has to confirm. Never both: which of the two it is, is settled in this process before
//! anything is sent, and an attempt whose lock was given back gets no other under its id.

use std::convert::Infallible;
use std::time::Duration;

use super::Redis;
use super::inbox::{Inbox, Successor};
use super::times::GRANT_TTL;
use super::wake_ups::{Passed, Taken, WakeUps};
use super::words::millis;
use crate::backend::{Attempt, AttemptAnswer, Mode};
use crate::clock::{self, Moment};
use crate::runtime::timeout;
use crate::{FencingToken, Key};

impl Redis {
    /// The TTL of an attempt that the lock can be passed on to. Others have more to say than that, or more to wait for.
    pub(super) fn passable(&self, attempt: &Attempt) -> Option<Duration> {
        let plain = attempt.mode == Mode::Exclusive && attempt.giver.is_none();
        (plain && self.synced.is_none()).then_some(attempt.ttl)
    }

    /// The grant of an attempt that the lock was passed on to. Its lease counts from when that was sent, so that what
    /// is left of it is told, and less than that by the margin that is left for clocks that differ.
    pub(super) fn passed_on(attempt: &Attempt, waiter: &WakeUps) -> Option<AttemptAnswer> {
        let (token, lease) = match waiter.take() {
            Taken::Nothing => return None,
            Taken::Lock(Passed { token, sent }) => {
                let age = Moment::now().since(sent);
                (token, attempt.ttl.saturating_sub(age + age / 50))
            }
            Taken::Revoked(token) => (token, Duration::ZERO),
        };
        Some(AttemptAnswer::Granted { token, lease })
    }

    /// Begins a release, which may pass the lock on.
    pub(super) fn passing<'a>(&'a self, key: &'a Key) -> Passing<'a> {
        Passing {
            inbox: &self.inbox,
            key,
            to: self.inbox.successor(key),
            sent: Moment::now(),
        }
    }

    /// Gives back what was passed on to waiters that do not take it: whoever is not polled, or was leaked with its
    /// runtime, would keep the lock for all of its TTL.
    pub(super) async fn give_back_what_is_not_taken(&self) -> Infallible {
        loop {
            self.inbox.something_is_passed().await;
            clock::sleep_until(Moment::now().after(GRANT_TTL)).await;
            for (key, owner) in self.inbox.revoke(GRANT_TTL) {
                let leaving = timeout(GRANT_TTL, self.end(&key, owner));
                if let Some(leaving) = leaving
                    && matches!(leaving.await, Ok(Ok(_)))
                {
                    self.inbox.given_back(owner);
                }
            }
        }
    }
}

/// A release under way, and whom it names.
#[derive(Debug)]
pub(super) struct Passing<'a> {
    inbox: &'a Inbox,
    key: &'a Key,
    to: Option<Successor>,
    sent: Moment,
}

impl Passing<'_> {
    /// The named waiter and its TTL, as the script takes them.
    pub(super) fn named(&self) -> (String, String) {
        match self.to {
            Some(Successor { owner, ttl }) => (owner.to_string(), millis(ttl)),
            None => Default::default(),
        }
    }

    /// Tells the named waiter, if the lock was passed on to it.
    pub(super) fn answered(self, passed: Option<FencingToken>) {
        if let (Some(Successor { owner, .. }), Some(token)) = (self.to, passed) {
            let sent = self.sent;
            self.inbox.pass(self.key, owner, Passed { token, sent });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::backend::redis::wake_ups::Fate;

    const TTL: Duration = Duration::from_secs(10);

    fn passed(age: Duration) -> (Attempt, WakeUps) {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, true);
        let waiter = WakeUps::new(Some(TTL));
        let token = FencingToken::try_from(7).unwrap();
        let sent = Moment::now();
        waiter.pass(Passed { token, sent });
        assert_eq!(sent.after(age).remaining(), age);
        (attempt, waiter)
    }

    fn lease(attempt: &Attempt, waiter: &WakeUps) -> Option<Duration> {
        match Redis::passed_on(attempt, waiter)? {
            AttemptAnswer::Granted { lease, .. } => Some(lease),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_counts_from_the_sending_of_the_release() {
        let age = Duration::from_secs(4);
        let (attempt, waiter) = passed(age);
        advance(age).await;
        let left = lease(&attempt, &waiter).unwrap();
        assert!(left <= TTL - age, "{left:?}");
        assert!(left > TTL - age - Duration::from_millis(100), "{left:?}");
        assert!(lease(&attempt, &waiter).is_none(), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_revoked_is_not_taken_and_what_is_taken_is_not_revoked() {
        let (attempt, waiter) = passed(GRANT_TTL);
        assert_eq!(waiter.revoke(GRANT_TTL), Fate::Open);
        advance(GRANT_TTL).await;
        assert_eq!(waiter.revoke(GRANT_TTL), Fate::Revoked);
        assert_eq!(lease(&attempt, &waiter), Some(Duration::ZERO));
        assert_eq!(waiter.revoke(GRANT_TTL), Fate::Revoked);

        let (attempt, waiter) = passed(GRANT_TTL);
        advance(GRANT_TTL).await;
        assert!(lease(&attempt, &waiter).is_some());
        assert_eq!(waiter.revoke(GRANT_TTL), Fate::Settled);
    }
}
