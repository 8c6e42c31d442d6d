use std::time::Duration;

use crate::backend::{Applied, BackendError};
use crate::{InvalidKey, InvalidOption, Key};

/// Why a lock was not acquired. No guard exists, and nothing is left behind that does not end by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The lock was busy for the whole wait.
    #[error("`{key}` was still locked after {waited:?}")]
    TimedOut {
        /// What was to be locked.
        key: Key,
        /// How long the caller waited.
        waited: Duration,
    },
    /// The manager was shut down.
    #[error("`{key}` was not locked: the lock manager is shut down")]
    Closed {
        /// What was to be locked.
        key: Key,
    },
    /// The backend failed. An outage is never reported as a busy lock.
    #[error("`{key}` was not locked: the backend failed")]
    Backend {
        /// What was to be locked.
        key: Key,
        /// Whether the backend may have granted the lock all the same. If so, a cleanup is under way
        /// and the lock is free once it has run, or after its TTL.
        applied: Applied,
        /// What the backend said last.
        source: BackendError,
    },
    /// The task that asks holds this lock already, and would wait for itself: a function that takes a lock
    /// was called from under it. See [`LockHandle::scope`](crate::LockHandle::scope).
    #[error(
        "`{key}` was not locked: this task holds it already; call what does the work without locking"
    )]
    AlreadyHeld {
        /// What was to be locked.
        key: Key,
    },
    /// A name that cannot be a lock's.
    #[error(transparent)]
    Key(#[from] InvalidKey),
    /// An option that cannot work.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// The future was not polled by a tokio runtime.
    #[error("a lock can only be acquired inside a tokio runtime; enter one first")]
    NoRuntime,
}

impl AcquireError {
    /// Whether the same call may succeed later: the lock was busy, or the backend had a passing fault.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            Self::Backend { source, .. } => source.is_temporary(),
            Self::Closed { .. }
            | Self::AlreadyHeld { .. }
            | Self::Key(_)
            | Self::Option(_)
            | Self::NoRuntime => false,
        }
    }
}
