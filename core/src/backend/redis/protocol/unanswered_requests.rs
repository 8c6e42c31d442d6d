//! Tracks acquire requests without a reply, because a late duplicate must not acquire again.

use std::time::Duration;

use parking_lot::Mutex;

use super::micros;
use crate::AttemptId;
use crate::attempt_id::AttemptMap;
use crate::backend::redis::timing::COPIES_LAST;
use crate::clock::LeaseInstant;
use crate::sweep_limit::SweepLimit;

/// The smallest number of unanswered requests at which the client removes expired requests.
const MANY: usize = 64;

/// Estimates the server's clock after the first reply, and tracks the requests without a reply.
#[derive(Debug)]
pub(crate) struct UnansweredRequests {
    start: LeaseInstant,
    /// The time after sending within which the server may still execute a request.
    last: Duration,
    state: Mutex<RequestLog>,
}

#[derive(Debug, Default)]
struct RequestLog {
    /// The server's microseconds at `start`, or a little more.
    server_start: Option<u64>,
    unanswered: AttemptMap<UnansweredRequest>,
    sweep_limit: SweepLimit<MANY>,
}

#[derive(Debug, Clone, Copy)]
struct UnansweredRequest {
    /// From this time on, by its own clock, the server refuses all duplicates.
    expiry: u64,
    /// The time from which the client may remove the entry even without a cleanup. This is long after the request
    /// expired.
    forget_at: LeaseInstant,
}

impl UnansweredRequests {
    pub(crate) fn new() -> Self {
        Self::lasting(COPIES_LAST)
    }

    pub(crate) fn lasting(last: Duration) -> Self {
        Self {
            start: LeaseInstant::now(),
            last,
            state: Mutex::default(),
        }
    }

    /// Updates the estimate of the server's clock from the reply to a request that the client sent at `sent`.
    pub(crate) fn observe_time(&self, sent: LeaseInstant, server_micros: u64) {
        let since_start = micros(sent.since(self.start));
        self.state.lock().server_start = Some(server_micros.saturating_sub(since_start));
    }

    /// Returns the server time from which the server refuses a request that the client sends now. Returns `None` if the
    /// server's clock is not known yet.
    pub(crate) fn expiry(&self) -> Option<u64> {
        self.expiry_at(LeaseInstant::now())
    }

    /// Works like [`expiry`](Self::expiry), for a caller that has just read the clock.
    pub(crate) fn expiry_at(&self, now: LeaseInstant) -> Option<u64> {
        let server_start = self.state.lock().server_start?;
        let now = micros(now.since(self.start));
        Some(
            server_start
                .saturating_add(now)
                .saturating_add(micros(self.last)),
        )
    }

    /// Records that a request has no reply, until the caller reports the reply to the returned guard.
    pub(crate) fn sending(&self, owner: AttemptId, expiry: u64) -> InFlightRequest<'_> {
        InFlightRequest {
            copies: self,
            owner,
            expiry,
            answered: false,
        }
    }

    /// Returns the server time until which the server may execute duplicate requests of the owner. Returns zero if all
    /// requests of the owner have a reply. The result is not a duration, because the estimate of the server's clock may
    /// be ahead by the time that the reply took.
    pub(crate) fn latest_expiry(&self, owner: AttemptId) -> u64 {
        let state = self.state.lock();
        let copy = state.unanswered.get(&owner);
        copy.filter(|it| !it.forget_at.has_passed())
            .map_or(0, |it| it.expiry)
    }

    /// Removes the owner's request if it expires at `known` or earlier, because the server then refuses its duplicates.
    /// A request with a later expiry stays.
    pub(crate) fn forget(&self, owner: AttemptId, known: u64) {
        let mut state = self.state.lock();
        let copy = state.unanswered.get(&owner);
        if copy.is_some_and(|copy| copy.expiry <= known) {
            state.unanswered.remove(&owner);
        }
    }
}

/// A request without a reply yet.
#[derive(Debug)]
pub(crate) struct InFlightRequest<'a> {
    copies: &'a UnansweredRequests,
    owner: AttemptId,
    expiry: u64,
    answered: bool,
}

impl InFlightRequest<'_> {
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut state = self.copies.state.lock();
        let RequestLog {
            unanswered,
            sweep_limit,
            ..
        } = &mut *state;
        let now = LeaseInstant::now();
        sweep_limit.sweep(unanswered, AttemptMap::len, |all| {
            all.retain(|_, copy| copy.forget_at > now);
        });
        let earlier = unanswered.get(&self.owner).map_or(0, |copy| copy.expiry);
        let copy = UnansweredRequest {
            expiry: self.expiry.max(earlier),
            forget_at: now.after(self.copies.last * 4),
        };
        unanswered.insert(self.owner, copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_COMMAND_TIMEOUT;

    #[tokio::test(start_paused = true)]
    async fn a_tombstone_keeps_its_expiry_when_the_clock_estimate_changes() {
        let copies = UnansweredRequests::new();
        let sent = LeaseInstant::now();
        tokio::time::advance(Duration::from_secs(3)).await;
        // The reply took three seconds, so the estimate of the server's clock is three seconds ahead.
        copies.observe_time(sent, 1_000_000);
        let (owner, expiry) = (AttemptId::random(), copies.expiry().unwrap());
        assert_eq!(copies.latest_expiry(owner), 0);
        drop(copies.sending(owner, expiry));
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        assert!(copies.expiry().unwrap() < expiry);
        assert_eq!(copies.latest_expiry(owner), expiry);
        copies.sending(owner, expiry - 1).answered();
        drop(copies.sending(owner, expiry - 1));
        assert_eq!(copies.latest_expiry(owner), expiry);
        copies.forget(owner, expiry);
        assert_eq!(copies.latest_expiry(owner), 0);
    }

    #[test]
    fn forgetting_earlier_requests_keeps_one_that_was_noted_since() {
        let copies = UnansweredRequests::new();
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        let (owner, expiry) = (AttemptId::random(), copies.expiry().unwrap());
        for (known, noted) in [(0, expiry), (expiry, expiry + 1)] {
            assert_eq!(copies.latest_expiry(owner), known);
            drop(copies.sending(owner, noted));
            copies.forget(owner, known);
            assert_eq!(copies.latest_expiry(owner), noted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_request_is_kept_while_a_duplicate_may_arrive() {
        const { assert!(COPIES_LAST.as_secs() > MAX_COMMAND_TIMEOUT.as_secs()) };
        let copies = UnansweredRequests::new();
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        let (lost, expiry) = (AttemptId::random(), copies.expiry().unwrap());
        drop(copies.sending(lost, expiry));
        let another_is_lost = || drop(copies.sending(AttemptId::random(), expiry));
        tokio::time::advance(COPIES_LAST).await;
        another_is_lost();
        assert_eq!(copies.latest_expiry(lost), expiry);
        tokio::time::advance(COPIES_LAST * 4).await;
        assert_eq!(copies.latest_expiry(lost), 0);
        for _ in 0..1_000 {
            another_is_lost();
            tokio::time::advance(COPIES_LAST / 10).await;
        }
        let kept = copies.state.lock().unanswered.len();
        assert!(kept <= MANY * 2, "{kept} of 40 that may matter");
    }
}
