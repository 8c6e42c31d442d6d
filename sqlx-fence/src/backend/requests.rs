//! Tracks acquire statements without a reply, because a late statement must not acquire after the end of its attempt.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leasehold::{AttemptId, MAX_COMMAND_TIMEOUT};

use super::times::micros;

/// The time after sending within which the database may still execute a statement. No manager waits longer for a
/// reply, so the database never refuses a statement whose caller still waits.
const LIFETIME: Duration = Duration::from_secs(MAX_COMMAND_TIMEOUT.as_secs() * 2);

/// The smallest number of unanswered statements at which expired ones are removed.
const MANY: usize = 64;

/// JSON, for example, does not represent larger numbers exactly. A statement expires before the clock reaches this
/// number, because its token would be greater.
const TOKEN_LIMIT: i64 = 1 << 53;

/// Estimates the database's clock after the first reply, and tracks the statements without a reply.
#[derive(Debug)]
pub(super) struct Requests {
    start: Instant,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// The database's microseconds at `start`, or a little more.
    database_start: Option<i64>,
    /// The statements by their owners and numbers.
    unanswered: BTreeMap<(AttemptId, u64), Unanswered>,
    /// The number of the last statement.
    last: u64,
}

#[derive(Debug)]
struct Unanswered {
    /// From this time on, by its own clock, the database refuses the statement.
    expiry: i64,
    /// The time from which the entry may be removed. This is long after the statement expired.
    forget_at: Instant,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            log: Mutex::default(),
        }
    }
}

impl Requests {
    /// Updates the estimate of the database's clock from the reply to a statement that was sent at `sent`.
    pub(super) fn observe(&self, sent: Instant, now: i64) {
        let since_start = micros(sent.saturating_duration_since(self.start));
        self.log().database_start = Some(now.saturating_sub(since_start));
    }

    /// Returns the time from which the database refuses a statement that is sent now. Returns `None` if the database's
    /// clock is not known yet.
    pub(super) fn expiry(&self) -> Option<i64> {
        let database_start = self.log().database_start?;
        Some(expiry_after(
            database_start.saturating_add(micros(self.start.elapsed())),
        ))
    }

    /// Records that a statement has no reply, until the caller reports the reply to the returned value.
    pub(super) fn sending(&self, owner: AttemptId, expiry: i64) -> Request<'_> {
        let now = Instant::now();
        let mut log = self.log();
        if log.unanswered.len() >= MANY {
            log.unanswered.retain(|_, it| it.forget_at > now);
        }
        log.last += 1;
        let (id, forget_at) = ((owner, log.last), now + LIFETIME * 4);
        log.unanswered.insert(id, Unanswered { expiry, forget_at });
        Request { requests: self, id }
    }

    /// Returns the database's time until which it may execute statements of the owner. Returns zero if all statements
    /// of the owner have a reply.
    pub(super) fn latest_expiry(&self, owner: AttemptId) -> i64 {
        let log = self.log();
        let of_owner = log.unanswered.range((owner, 0)..=(owner, u64::MAX));
        of_owner.map(|(_, it)| it.expiry).max().unwrap_or_default()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time from which the database refuses a statement that is sent at about `now`, by the database's clock.
pub(super) fn expiry_after(now: i64) -> i64 {
    now.saturating_add(micros(LIFETIME)).min(TOKEN_LIMIT)
}

/// A statement without a reply yet.
#[derive(Debug)]
pub(super) struct Request<'a> {
    requests: &'a Requests,
    id: (AttemptId, u64),
}

impl Request<'_> {
    pub(super) fn answered(self) {
        self.requests.log().unanswered.remove(&self.id);
    }
}
