//! The simulated time.

use std::time::{Duration, SystemTime};

/// The time of day at the beginning of every run.
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);

/// Returns the time of day at the beginning of every run.
pub(crate) fn beginning() -> SystemTime {
    SystemTime::UNIX_EPOCH + BEGINNING
}

/// Returns the time since the beginning of the run. Only works inside of a simulated process.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

/// Returns the time of day in microseconds. Only works inside of a simulated process.
pub(crate) fn micros_of_day() -> u64 {
    micros_at(now())
}

/// Returns the time of day in microseconds, at this time after the beginning of the run.
pub(crate) fn micros_at(at: Duration) -> u64 {
    micros(BEGINNING + at)
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
