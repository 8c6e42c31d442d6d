//! Estimates the clock of the database, so that the database can refuse late statements.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leasehold_core::MAX_COMMAND_TIMEOUT;

use super::clock_micros::micros;

/// The time after sending within which the database may still execute a statement. No manager waits longer for a
/// reply, so the database never refuses a statement whose caller still waits.
const LIFETIME: Duration = Duration::from_secs(MAX_COMMAND_TIMEOUT.as_secs() * 2);

/// JSON, for example, does not represent larger numbers exactly. A statement expires before the clock reaches this
/// number, because its token would be greater.
const TOKEN_LIMIT: i64 = 1 << 53;

/// The estimate, which exists after the first reply.
#[derive(Debug)]
pub(super) struct DatabaseClock {
    start: Instant,
    /// The database's microseconds at `start`, or a little more.
    database_start: Mutex<Option<i64>>,
}

impl Default for DatabaseClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            database_start: Mutex::default(),
        }
    }
}

impl DatabaseClock {
    /// Updates the estimate from the reply to a statement that was sent at `sent`.
    pub(super) fn observe(&self, sent: Instant, now: i64) {
        let since_start = micros(sent.saturating_duration_since(self.start));
        *self.database_start() = Some(now.saturating_sub(since_start));
    }

    /// Returns the time from which the database refuses a statement that is sent now. Returns `None` before the first
    /// reply.
    pub(super) fn expiry(&self) -> Option<i64> {
        let database_start = (*self.database_start())?;
        Some(expiry_after(
            database_start.saturating_add(micros(self.start.elapsed())),
        ))
    }

    fn database_start(&self) -> MutexGuard<'_, Option<i64>> {
        self.database_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time from which the database refuses a statement that is sent at about `now`, by the database's clock.
pub(super) fn expiry_after(now: i64) -> i64 {
    now.saturating_add(micros(LIFETIME)).min(TOKEN_LIMIT)
}
