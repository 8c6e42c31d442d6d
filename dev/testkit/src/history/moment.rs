//! The time of events.

use std::fmt;

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// `CLOCK_BOOTTIME`, which includes suspension, like leases.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Nanoseconds since the start of this machine, by a clock that is the same for all its processes and never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment(pub u64);

impl Moment {
    /// Returns the current moment.
    #[must_use]
    pub fn now() -> Self {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(CLOCK);
        let seconds = u64::try_from(tv_sec).unwrap_or_default();
        Self(seconds * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or_default())
    }
}

/// Displays the moment in seconds.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
