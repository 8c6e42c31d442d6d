//! The pauses between retries.

use std::time::Duration;

use crate::backend::BackendError;
use crate::clock::{self, LeaseInstant};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A pause takes at most this part of the time that is left, so that a backend that works again is not noticed too late.
const PART_OF_REST: u32 = 4;

/// The shortest pause that [`PART_OF_REST`] leads to.
const SHORTEST_PART: Duration = Duration::from_millis(100);

/// The last retry starts this long before the end of the time.
const LAST_TRY: Duration = Duration::from_millis(10);

/// Pauses between retries. The pauses increase up to a maximum, with jitter.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Pauses before another retry. Returns `error` if it is permanent, or if no time is left before `end`. The last
    /// retry starts just before `end`.
    pub(super) async fn pause_after(
        &mut self,
        error: BackendError,
        end: LeaseInstant,
    ) -> Result<(), BackendError> {
        if error.is_temporary() && self.pause_before(end).await {
            return Ok(());
        }
        Err(error)
    }

    /// Pauses before another retry, whatever the failure. Returns false if no time is left before `end`.
    pub(crate) async fn pause_before(&mut self, end: LeaseInstant) -> bool {
        let left = end.remaining().saturating_sub(LAST_TRY);
        if left.is_zero() {
            return false;
        }
        let part = (left / PART_OF_REST).max(SHORTEST_PART).min(left);
        let pause = self.next().min(part);
        clock::sleep_until(LeaseInstant::now().after(pause)).await;
        true
    }

    pub(super) async fn pause(&mut self) {
        let pause = self.next();
        clock::sleep_until(LeaseInstant::now().after(pause)).await;
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        with_jitter(pause)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST_PAUSE }
    }
}

/// Returns between 90 % and 100 % of `duration`, so that callers do not all retry at the same time.
pub(super) fn with_jitter(duration: Duration) -> Duration {
    duration.mul_f64(0.9 + fastrand::f64() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_pauses_increase_up_to_the_cap() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::default();
        let whole = [10, 20, 40, 80, 160, 320, 640, 1000, 1000];
        for whole in whole.map(ms) {
            let pause = backoff.next();
            assert!(
                pause <= whole && pause >= whole.mul_f64(0.89),
                "{pause:?} of {whole:?}"
            );
        }
    }
}
