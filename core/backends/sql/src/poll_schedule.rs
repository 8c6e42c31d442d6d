//! When the row of a key is polled for the waiters of this process.

use std::time::{Duration, Instant};

use leasehold_core::backend::key_state::Timing;

/// The first and the longest pause between two polls without notifications.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// The pause between two polls if notifications arrive.
const NOTIFIED_PAUSE: Duration = Duration::from_secs(5);

/// Returns the times of the waiters of a database whose clock advances in steps of `clock_step`. A position outlives two
/// failed polls, because the polls keep the positions of this process. So a waiter rarely has to repeat its attempt.
pub(super) const fn timing(clock_step: Duration) -> Timing {
    let mut timing = Timing::new();
    timing.waiter_lease = Duration::from_secs(15);
    timing.renew_after = Duration::from_secs(4);
    timing.refresh = Duration::from_secs(600);
    timing.grant_after_expiry = Duration::from_secs(1);
    timing.clock_step = clock_step;
    timing
}

/// The polls of one key. The waiters of this process share them: a waiter polls if no other waiter has polled in time.
#[derive(Debug)]
pub(super) struct Polls {
    /// The beginning of the last poll.
    last: Instant,
    pause: Duration,
    /// What the last successful poll has read.
    seen: Option<Seen>,
    /// When a grant ends that another process has announced. A poll in progress may have read an older row.
    announced: Option<Instant>,
}

#[derive(Debug)]
struct Seen {
    /// The last token, which changes with the holder.
    token: i64,
    /// The time at which a lease or a grant ends, so that another waiter may acquire the lock.
    expiry: Option<Instant>,
}

impl Default for Polls {
    fn default() -> Self {
        Self {
            last: Instant::now(),
            pause: FIRST_PAUSE,
            seen: None,
            announced: None,
        }
    }
}

impl Polls {
    /// Returns the time of the next poll. Notifications arrive since `notified`. Nothing notifies of the end of a lease,
    /// so the first poll is soon even then.
    pub(super) fn next(&self, notified: Option<Instant>) -> Instant {
        let is_notified = notified.is_some_and(|since| since < self.last);
        let next = match self.seen.as_ref().filter(|_| is_notified) {
            Some(seen) => {
                let next = self.last + NOTIFIED_PAUSE;
                let expiry = seen.expiry.unwrap_or(next);
                expiry.clamp(self.last + FIRST_PAUSE, next)
            }
            None => self.last + self.pause,
        };
        let announced = self.announced.map(|it| it.max(self.last + FIRST_PAUSE));
        announced.map_or(next, |it| it.min(next))
    }

    /// Schedules a poll for when the grant of a waiter of another process expires.
    pub(super) fn expect_expiry(&mut self, grant: Duration) {
        self.announced.get_or_insert(Instant::now() + grant);
    }

    /// Begins a poll if it is due.
    pub(super) fn begin(&mut self, notified: Option<Instant>) -> bool {
        let now = Instant::now();
        let is_due = self.next(notified) <= now;
        if is_due {
            self.announced.take_if(|it| *it <= now);
            self.last = now;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        is_due
    }

    /// Updates the schedule after a poll. The polls are frequent again if the holder has changed.
    pub(super) fn end(&mut self, token: i64, expires_in: Option<Duration>) {
        if self.seen.as_ref().is_none_or(|it| it.token != token) {
            self.pause = FIRST_PAUSE;
        }
        let expiry = expires_in.map(|it| Instant::now() + it);
        self.seen = Some(Seen { token, expiry });
    }
}
