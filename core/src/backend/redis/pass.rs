//! Passing a lock on inside a process, with the answer to a release: what waits there need not ask.
//!
//! A release names the waiter of its process that has waited longest. If that one is also the next in line on the
//! server, the script does at once what its grant and its confirmation would do, and the answer brings its token. A
//! release that is answered with anything else has passed nothing on, and one that is not answered may have: the waiter
//! looks then, and is answered as any second copy is.
//!
//! Whoever has been passed the lock has it, as a holder has whose answer is under way: a waiter that is not polled keeps
//! it from others for as long as its TTL.

use std::time::Duration;

use super::Redis;
use super::inbox::{Inbox, Successor};
use super::times::GRANT_TTL;
use super::wake_ups::{Passed, WakeUps};
use crate::backend::{Attempt, AttemptAnswer, Mode};
use crate::clock::Moment;
use crate::{FencingToken, Key, OwnerId, meter};

impl Redis {
    /// The TTL of an attempt that the lock can be passed on to. Others have more to say than that, or more to wait for, or
    /// would have less time to take it than to confirm it.
    pub(super) fn passable(&self, attempt: &Attempt) -> Option<Duration> {
        let plain = attempt.mode == Mode::Exclusive && attempt.giver.is_none();
        let lasts = attempt.ttl >= GRANT_TTL;
        (plain && lasts && self.synced.is_none()).then_some(attempt.ttl)
    }

    /// The grant of an attempt that the lock was passed on to. Its lease counts from when that was sent, so that what
    /// is left of it is told, and less than that by the margin that is left for clocks that differ. Where not much is
    /// left the server is asked again, which sets the TTL anew.
    pub(super) fn passed_on(attempt: &Attempt, waiter: &WakeUps) -> Option<AttemptAnswer> {
        let Passed { token, sent } = waiter.take_passed()?;
        let age = Moment::now().since(sent);
        let lease = attempt.ttl.saturating_sub(age + age / 50);
        (lease >= attempt.ttl / 2).then(|| {
            meter::passed_on();
            AttemptAnswer::Granted { token, lease }
        })
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
    /// The named waiter and its TTL.
    pub(super) fn named(&self) -> Option<(OwnerId, Duration)> {
        self.to.map(|to| (to.owner, to.ttl))
    }

    /// Tells the named waiter, if the lock was passed on to it.
    pub(super) fn answered(mut self, passed: Option<FencingToken>) {
        if let (Some(to), Some(token)) = (self.to.take(), passed) {
            let sent = self.sent;
            self.inbox.pass(self.key, to, Passed { token, sent });
        }
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        // Nobody has heard the answer, and it may have been this waiter's turn.
        if let Some(to) = self.to {
            self.inbox.nudge(to.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    fn passed() -> (Attempt, WakeUps) {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, true);
        let waiter = WakeUps::new(Some(TTL));
        let token = FencingToken::try_from(7).unwrap();
        let sent = Moment::now();
        waiter.pass(Passed { token, sent });
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
