use std::error::Error;
use std::fmt;

use crate::limited_acquire::NotLocked;

/// The error of a call of a locked service.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockServiceError<E> {
    /// The call did not acquire its lock, or lost it. Without the lock, the call did not reach the inner service. After
    /// a loss, the service dropped the call, or the call ended without the lock.
    Lock(leasehold_core::Error),
    /// The lock is held, and the maximum number of calls already wait for locks.
    TooManyWaiters,
    /// The error of the inner service.
    Service(E),
}

impl<E> From<NotLocked> for LockServiceError<E> {
    fn from(not: NotLocked) -> Self {
        match not {
            NotLocked::Refused(error) => Self::Lock(error),
            NotLocked::TooManyWaiters => Self::TooManyWaiters,
        }
    }
}

impl<E> fmt::Display for LockServiceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock(_) => "acquiring or keeping the lock of the call failed",
            Self::TooManyWaiters => "the call did not run: too many calls are waiting for locks",
            Self::Service(_) => "the locked service failed",
        })
    }
}

impl<E: Error + 'static> Error for LockServiceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Lock(error) => Some(error),
            Self::TooManyWaiters => None,
            Self::Service(error) => Some(error),
        }
    }
}
