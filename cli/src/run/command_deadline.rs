//! The deadlines for the command, on a clock that all processes share.
//!
//! | time since the last successful renewal | event |
//! |---|---|
//! | 1/3 of the TTL | the next renewal; if it fails, the manager retries it until the lease ends |
//! | 2/3 of the TTL | the supervisor sends SIGTERM to all processes of the command |
//! | 9/10 of the TTL | the supervisor sends SIGKILL to the processes that are left |
//! | 19/20 of the TTL | the holder kills the processes and the supervisor, if the supervisor has not reported the end |
//! | 99/100 of the TTL | the lease ends for the holder |
//! | the TTL | the lease ends on the server at the earliest, and another process can acquire the lock |

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// What the supervisor knows about a lease.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Deadline {
    /// The end of the lease, on the clock of [`now`].
    end: Duration,
    /// The whole length of the lease.
    length: Duration,
}

impl Deadline {
    /// Creates the deadline of a lease that is valid for the result of `valid_for`, which is called once.
    pub(super) fn of(valid_for: impl FnOnce() -> Duration) -> Self {
        // If this process is paused between the two readings, the deadline is too early, not too late.
        let read = now();
        let length = valid_for();
        let end = read + length;
        Self { end, length }
    }

    /// Replaces the deadline by `newer` if a renewal has moved it, and returns whether it did.
    pub(super) fn renew(&mut self, newer: Self) -> bool {
        let is_later = newer.end > self.end + self.length / 100;
        if is_later {
            self.end = newer.end;
            // The length after a slow renewal is shorter than the whole lease.
            self.length = self.length.max(newer.length);
        }
        is_later
    }

    /// Returns when the command gets SIGTERM.
    pub(super) fn term_at(&self) -> Duration {
        self.end.saturating_sub(self.length / 3)
    }

    /// Returns when the supervisor kills the command.
    pub(super) fn kill_at(&self) -> Duration {
        self.end.saturating_sub(self.length / 10)
    }

    /// Returns when the holder kills the command.
    pub(super) fn last_kill_at(&self) -> Duration {
        self.end.saturating_sub(self.length / 20)
    }

    /// Returns how often the holder checks the lease.
    pub(super) fn check_interval(&self) -> Duration {
        self.length / 50
    }
}

/// Returns the time since the machine was started. It includes the time for which the machine was suspended.
pub(super) fn now() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::Monotonic;
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(30);

    #[test]
    fn sigterm_and_sigkill_are_due_at_fixed_fractions_before_the_lease_ends() {
        let deadline = Deadline::of(|| LENGTH);
        let before_the_end = |moment| deadline.end - moment;
        assert_eq!(before_the_end(deadline.term_at()), LENGTH / 3);
        assert_eq!(before_the_end(deadline.kill_at()), LENGTH / 10);
        assert_eq!(before_the_end(deadline.last_kill_at()), LENGTH / 20);
        assert!(deadline.check_interval() < LENGTH / 20);
    }

    #[test]
    fn a_pause_between_the_readings_makes_the_deadline_earlier() {
        let pause = Duration::from_millis(50);
        let end = now() + pause + LENGTH;
        let deadline = Deadline::of(|| {
            std::thread::sleep(pause);
            LENGTH
        });
        assert!(deadline.end <= end && deadline.end > end - pause - pause);
    }

    #[test]
    fn only_a_renewal_moves_the_deadline() {
        let mut deadline = Deadline::of(|| LENGTH);
        let end = deadline.end;
        assert!(!deadline.renew(Deadline::of(|| LENGTH)));
        assert!(!deadline.renew(Deadline::of(|| LENGTH / 2)));
        assert_eq!(deadline.end, end);

        assert!(deadline.renew(Deadline::of(|| LENGTH + LENGTH / 3)));
        assert!(deadline.end > end);
        // A slow reply makes the rest of a renewed lease shorter, but not the lease.
        let length = deadline.length;
        deadline.end = end - LENGTH;
        assert!(deadline.renew(Deadline::of(|| LENGTH / 2)));
        assert_eq!(deadline.length, length);
    }
}
