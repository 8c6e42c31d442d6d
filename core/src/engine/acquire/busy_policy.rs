//! What an acquire does when the lock is held: fail, wait for some time, or wait forever.

use crate::options::LockOptions;

/// What an acquire does when the lock is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BusyPolicy {
    /// It has timed out.
    None,
    /// It waits as long as the options say.
    Wait,
}

impl BusyPolicy {
    /// Who does not wait takes no place in the queue, which would have to be cleaned up.
    pub(crate) fn of(options: &LockOptions, may_wait: bool) -> Self {
        match options.wait {
            Some(wait) if wait.is_zero() => Self::None,
            _ if may_wait => Self::Wait,
            _ => Self::None,
        }
    }
}
