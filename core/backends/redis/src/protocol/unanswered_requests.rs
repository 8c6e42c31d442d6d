//! The acquire requests without a reply, because a late duplicate must not acquire again, and a handover that may have
//! stored a secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leasehold_core::backend::{Attempt, Claim};

/// The requests of one attempt, or of one round on one node.
#[derive(Debug, Default)]
pub(crate) struct UnansweredRequests {
    /// From this time on, by its own clock, the server refuses all of them. Zero if all have a reply.
    latest_expiry: AtomicU64,
    /// Whether the server may have a secret of a handover.
    may_have_secret: AtomicBool,
}

impl UnansweredRequests {
    pub(crate) fn of(attempt: &Attempt) -> Arc<Self> {
        attempt.state(Self::default)
    }

    pub(crate) fn of_claim(claim: &Claim) -> Arc<Self> {
        claim.state(Self::default)
    }

    /// Records that a request has no reply, until the caller reports the reply to the returned guard.
    pub(crate) const fn sending(&self, expiry: u64) -> InFlightRequest<'_> {
        InFlightRequest {
            unanswered: self,
            expiry,
            is_answered: false,
        }
    }

    /// Records a handover, before its request is sent.
    pub(crate) fn handing_over(&self) {
        self.may_have_secret.store(true, Ordering::Release);
    }

    /// Returns whether the server may have a secret of a handover.
    pub(crate) fn may_have_secret(&self) -> bool {
        self.may_have_secret.load(Ordering::Acquire)
    }

    /// Records a request without a reply.
    pub(crate) fn add(&self, expiry: u64) {
        self.latest_expiry.fetch_max(expiry, Ordering::AcqRel);
    }

    /// Returns the server time until which the server may execute one of the requests. Returns zero if all of them have
    /// a reply. The result is not a duration, because the estimate of the server's clock may be ahead by the time that
    /// the reply took.
    pub(crate) fn latest_expiry(&self) -> u64 {
        self.latest_expiry.load(Ordering::Acquire)
    }

    /// Removes the requests that expire at `known` or earlier, because the server now refuses them. A request with a
    /// later expiry stays.
    pub(crate) fn forget(&self, known: u64) {
        let cleared = |expiry| (expiry <= known).then_some(0);
        // An error means that a later request is there.
        let _kept = self
            .latest_expiry
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, cleared);
    }
}

/// A request without a reply yet.
#[derive(Debug)]
pub(crate) struct InFlightRequest<'a> {
    unanswered: &'a UnansweredRequests,
    expiry: u64,
    is_answered: bool,
}

impl InFlightRequest<'_> {
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.unanswered.add(self.expiry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_limits::REQUESTS_LAST;
    use leasehold_core::MAX_COMMAND_TIMEOUT;

    #[test]
    fn the_latest_expiry_is_that_of_the_latest_request_without_a_reply() {
        const { assert!(REQUESTS_LAST.as_secs() > MAX_COMMAND_TIMEOUT.as_secs()) };
        let requests = UnansweredRequests::default();
        assert_eq!(requests.latest_expiry(), 0);
        drop(requests.sending(7));
        requests.sending(9).answered();
        drop(requests.sending(6));
        assert_eq!(requests.latest_expiry(), 7);
    }

    #[test]
    fn forgetting_earlier_requests_keeps_one_that_was_sent_since() {
        let requests = UnansweredRequests::default();
        for (known, sent) in [(0, 7), (7, 8)] {
            assert_eq!(requests.latest_expiry(), known);
            drop(requests.sending(sent));
            requests.forget(known);
            assert_eq!(requests.latest_expiry(), sent);
        }
        requests.forget(8);
        assert_eq!(requests.latest_expiry(), 0);
    }
}
