//! Until when this session is known to be alive.
//!
//! # Implementation details
//!
//! Sessions are ended by the leader, and a follower tells it only now and then from whom it has heard: with the answer
//! to the leader's ping, every half tick. A write that a follower forwards does *not* count as a sign of life at the
//! leader. So a confirmed write alone does not prove that the session lives for its whole timeout from then on: if
//! the follower is cut off right after it, the leader counts from what it was told before.
//!
//! What proves it: a request that was answered, and a write that was sent at least one ping later and confirmed. The
//! report of the one has gone to the leader before the other, on the same connection. No session can be shorter than
//! two ticks (unless a server's `minSessionTimeout` says so), so a third of the timeout is longer than the half tick
//! between two pings. It proves nothing on a link where the leader's words hang for longer than that third less half a
//! tick while the follower's still get through. A new session counts from before it was asked for: that request does
//! reach the leader.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::LeaseInstant;

/// What is surely more than the time between two reports to the leader, as a part of the timeout.
const REPORTED_WITHIN: u32 = 3;

/// How often there is a sign of life, as a part of the timeout.
pub(super) const PULSES: u32 = 12;

#[derive(Debug)]
pub(super) struct SessionLiveness {
    timeout: Duration,
    /// The leader has counted the timeout from here, or from later.
    counted_from: LeaseInstant,
    /// Requests that were answered, and are not yet surely reported: when they were sent and answered.
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

    /// A request that was sent then was answered just now.
    pub(super) fn sign_of_life(&mut self, sent: LeaseInstant, now: LeaseInstant) {
        // Who writes nothing would keep them all. A write from now on proves the second, which is more than the first.
        while let Some(&(_, answered)) = self.answered.get(1)
            && self.is_reported(answered, sent)
        {
            self.answered.pop_front();
        }
        // One between two pulses says nothing new.
        let fresh = self.timeout / PULSES / 2;
        if self
            .answered
            .back()
            .is_none_or(|(last, _)| sent.since(*last) >= fresh)
        {
            self.answered.push_back((sent, now));
        }
    }

    /// A write that was sent then is confirmed.
    pub(super) fn confirmed(&mut self, sent: LeaseInstant) {
        while let Some((earlier, answered)) = self.answered.front().copied() {
            if !self.is_reported(answered, sent) {
                break;
            }
            self.counted_from = self.counted_from.max(earlier);
            self.answered.pop_front();
        }
    }

    /// Whether what was answered then was reported before what was sent then.
    fn is_reported(&self, answered: LeaseInstant, sent: LeaseInstant) -> bool {
        answered.after(self.timeout / REPORTED_WITHIN) <= sent
    }

    /// How long the session surely lives, counted from `begun`.
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
    async fn a_new_session_lives_for_its_timeout_from_before_it_was_asked_for() {
        let begun = LeaseInstant::now();
        let liveness = SessionLiveness::new(TIMEOUT, begun);
        assert_eq!(liveness.lease_from(begun), TIMEOUT);
        assert_eq!(liveness.lease_from(begun.after(ms(5000))), ms(7000));
        assert_eq!(liveness.lease_from(begun.after(ms(50_000))), ms(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_confirmed_write_proves_what_was_answered_a_report_before_it_and_not_itself() {
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
    async fn without_writes_few_signs_of_life_are_kept_and_the_next_write_proves_as_much() {
        let start = LeaseInstant::now();
        let at = |millis| start.after(ms(millis));
        let mut liveness = SessionLiveness::new(TIMEOUT, start);
        for second in 1..=100_000 {
            liveness.sign_of_life(at(1000 * second), at(1000 * second + 10));
            let kept = liveness.answered.len();
            assert!(kept <= 6, "{kept}");
        }
        // The last but one was answered a report before it, and the last just not.
        let now = 100_000_000 + 4009;
        liveness.confirmed(at(now));
        assert_eq!(liveness.lease_from(at(now)), ms(12_000 - 5009));
        liveness.confirmed(at(now + 1));
        assert_eq!(liveness.lease_from(at(now + 1)), ms(12_000 - 4010));
    }

    #[tokio::test(start_paused = true)]
    async fn with_regular_pulses_a_lease_is_seven_twelfths_of_the_timeout_at_least() {
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
