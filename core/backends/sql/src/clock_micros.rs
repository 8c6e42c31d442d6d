//! Converts between durations and the microseconds of the database's clock.

use std::time::Duration;

/// Returns a time in microseconds, rounded up, so that a lease does not end early.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(i64::MAX)
}

/// Returns a time of the database's clock as the time of a step.
pub(super) fn time(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
