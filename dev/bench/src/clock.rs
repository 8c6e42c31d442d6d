//! Time that processes of one machine agree on.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Since some moment that is the same for all processes.
pub(crate) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// How long this thread has run.
pub(crate) fn cpu_of_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// How long this process has run, on all cores together.
pub(crate) fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
