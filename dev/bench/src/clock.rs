//! A clock that all processes of one machine share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the time since a moment that is the same for all processes.
pub(crate) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Returns the CPU time of this thread.
pub(crate) fn cpu_of_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Returns the CPU time of this process, on all cores together.
pub(crate) fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
