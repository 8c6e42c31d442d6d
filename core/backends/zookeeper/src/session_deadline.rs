//! Calculates until when this session definitely lasts.
//!
//! # Implementation details
//!
//! The leader ends sessions. A follower replies to the leader's ping every half tick. Only this reply reports from
//! which clients the follower has received messages. A write that a follower forwards does *not* count as a heartbeat
//! at the leader. So a confirmed write alone does not prove that the session lasts for its whole timeout from then on.
//! If the follower loses its connection right after the write, the leader counts from the last report.
//!
//! The proof needs two requests: one with a reply, and a confirmed write that the client sent at least one ping later.
//! The report about the first request has reached the leader before the second request, on the same connection. No
//! session timeout can be shorter than two ticks, unless `minSessionTimeout` of a server is shorter. So a third of the
//! timeout is longer than the half tick between two pings. The proof fails if a link delays only the leader's messages
//! by more than that third less half a tick. A new session counts from before the client sent the session's request,
//! because that request does reach the leader.

use std::collections::VecDeque;
use std::time::Duration;

use leasehold_core::backend::support::clock::LeaseInstant;

/// A fraction of the timeout that is definitely longer than the time between two reports to the leader.
const REPORTED_WITHIN: u32 = 3;

/// The number of heartbeats per timeout.
pub(super) const PULSES: u32 = 12;

#[derive(Debug)]
pub(super) struct SessionLiveness {
    timeout: Duration,
    /// The leader has counted the timeout from this time, or from a later time.
    counted_from: LeaseInstant,
    /// Requests with replies that the leader may not have in a report yet: the times of the request and of the reply.
    answered: VecDeque<(LeaseInstant, LeaseInstant)>,
}

impl SessionLiveness {
    pub(super) fn new(timeout: Duration, asked_for: LeaseInstant) -> Self {
        Self {
            timeout,
            counted_from: asked_for,
            answered: VecDeque::new(),
        }
    }

    /// Records that the server replied at `now` to a request that the client sent at `sent`.
    pub(super) fn sign_of_life(&mut self, sent: LeaseInstant, now: LeaseInstant) {
        // Without writes this list would become longer with each request. A later write will prove the second request,
        // so the proof does not need the first request.
        while let Some(&(_, answered)) = self.answered.get(1)
            && self.is_reported(answered, sent)
        {
            self.answered.pop_front();
        }
        // The proof does not need a request between two heartbeats.
        let fresh = self.timeout / PULSES / 2;
        if self
            .answered
            .back()
            .is_none_or(|(last, _)| sent.since(*last) >= fresh)
        {
            self.answered.push_back((sent, now));
        }
    }

    /// Records that the server confirmed a write that the client sent at `sent`.
    pub(super) fn confirmed(&mut self, sent: LeaseInstant) {
        while let Some((earlier, answered)) = self.answered.front().copied() {
            if !self.is_reported(answered, sent) {
                break;
            }
            self.counted_from = self.counted_from.max(earlier);
            self.answered.pop_front();
        }
    }

    /// Returns whether the follower reported a request with a reply at `answered` before the client sent a request at
    /// `sent`.
    fn is_reported(&self, answered: LeaseInstant, sent: LeaseInstant) -> bool {
        answered.after(self.timeout / REPORTED_WITHIN) <= sent
    }

    /// Returns for how long the session definitely lasts, counted from `begun`.
    pub(super) fn lease_from(&self, begun: LeaseInstant) -> Duration {
        self.timeout.saturating_sub(begun.since(self.counted_from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(12);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_session_lasts_for_its_timeout_from_before_the_request() {
        let begun = LeaseInstant::now();
        let liveness = SessionLiveness::new(TIMEOUT, begun);
        assert_eq!(liveness.lease_from(begun), TIMEOUT);
        assert_eq!(liveness.lease_from(begun.after(ms(5000))), ms(7000));
        assert_eq!(liveness.lease_from(begun.after(ms(50_000))), ms(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_confirmed_write_proves_only_requests_answered_one_ping_earlier() {
        let start = LeaseInstant::now();
        let at = |millis| start.after(ms(millis));
        let mut liveness = SessionLiveness::new(TIMEOUT, start);
        liveness.sign_of_life(at(5000), at(5010));
        liveness.confirmed(at(5000));
        assert_eq!(
            liveness.lease_from(at(5000)),
            ms(7000),
            "it is not reported yet"
        );
        liveness.confirmed(at(9009));
        assert_eq!(liveness.lease_from(at(9009)), ms(12_000 - 9009));
        liveness.confirmed(at(9010));
        assert_eq!(liveness.lease_from(at(9010)), ms(12_000 - 4010));
    }

    #[tokio::test(start_paused = true)]
    async fn few_heartbeats_are_kept_and_the_next_write_proves_as_much() {
        let start = LeaseInstant::now();
        let at = |millis| start.after(ms(millis));
        let mut liveness = SessionLiveness::new(TIMEOUT, start);
        for second in 1..=100_000 {
            liveness.sign_of_life(at(1000 * second), at(1000 * second + 10));
            let kept = liveness.answered.len();
            assert!(kept <= 6, "{kept}");
        }
        // The server replied to the last but one request one report before the write, but not to the last request.
        let now = 100_000_000 + 4009;
        liveness.confirmed(at(now));
        assert_eq!(liveness.lease_from(at(now)), ms(12_000 - 5009));
        liveness.confirmed(at(now + 1));
        assert_eq!(liveness.lease_from(at(now + 1)), ms(12_000 - 4010));
    }

    #[tokio::test(start_paused = true)]
    async fn regular_heartbeats_give_at_least_seven_twelfths_of_the_timeout() {
        let start = LeaseInstant::now();
        let mut liveness = SessionLiveness::new(TIMEOUT, start);
        let mut shortest = TIMEOUT;
        for step in 1..2000_u64 {
            let now = start.after(ms(50 * step));
            if step.is_multiple_of(20) {
                liveness.sign_of_life(now, now);
            }
            liveness.confirmed(now);
            shortest = shortest.min(liveness.lease_from(now));
        }
        assert!(shortest >= TIMEOUT * 7 / 12, "{shortest:?}");
    }
}
