use std::error::Error;
use std::fmt;

use crate::source::NotLocked;

/// What a call of a locked service can fail with.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockServiceError<E> {
    /// The lock was not acquired, and the service not called; or the lock was lost, and the call was dropped, or came
    /// to its end without it.
    Lock(leasehold::Error),
    /// The lock is held, and as many calls wait for locks as may.
    TooManyWaiters,
    /// The service's own error.
    Service(E),
}

impl<E> From<NotLocked> for LockServiceError<E> {
    fn from(not: NotLocked) -> Self {
        match not {
            NotLocked::Refused(error) => Self::Lock(error.into()),
            NotLocked::TooManyWaiters => Self::TooManyWaiters,
        }
    }
}

impl<E> fmt::Display for LockServiceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock(_) => "the call was not made under its lock to the end",
            Self::TooManyWaiters => "the call was not made: too many wait for locks",
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
