//! The time of events.

use std::fmt;

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// `CLOCK_BOOTTIME`, which counts suspension as leases do.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Nanoseconds since this machine has started, by a clock that is the same for
/// all its processes and never set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment(pub u64);

impl Moment {
    /// This one.
    #[must_use]
    pub fn now() -> Self {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(CLOCK);
        let seconds = u64::try_from(tv_sec).unwrap_or_default();
        Self(seconds * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or_default())
    }
}

/// In seconds.
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
