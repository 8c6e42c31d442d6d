//! The simulated time.

use std::time::{Duration, SystemTime};

/// When every run begins.
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);

/// When every run begins.
pub(crate) fn beginning() -> SystemTime {
    SystemTime::UNIX_EPOCH + BEGINNING
}

/// How long the run has lasted. Only where a simulated process runs.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

/// The time of day, in microseconds. Only where a simulated process runs.
pub(crate) fn micros_of_day() -> u64 {
    micros(BEGINNING + now())
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
