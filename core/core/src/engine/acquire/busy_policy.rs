//! Defines how an acquire reacts to a held lock: it fails, or waits with or without a limit.

use crate::options::AcquireOptions;

/// The reaction of an acquire to a busy lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BusyPolicy {
    /// The acquire returns immediately.
    None,
    /// The acquire waits for the time that the options set.
    Wait,
}

impl BusyPolicy {
    /// Returns the policy. An acquire without a wait does not queue, because a queue position would need a cleanup.
    pub(crate) fn of(options: &AcquireOptions, may_wait: bool) -> Self {
        match options.wait {
            Some(wait) if wait.is_zero() => Self::None,
            _ if may_wait => Self::Wait,
            _ => Self::None,
        }
    }
}
