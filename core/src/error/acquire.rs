//! The error of an acquire.

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
    /// was called from under it. See [`LockGuard::run`](crate::LockGuard::run) and
    /// [`LockHandle::scope`](crate::LockHandle::scope), and [`reentrant`](crate::Lock::reentrant) for locks that can be
    /// taken again.
    #[error(
        "`{key}` was not locked: this task holds it already; call what does the work without locking"
    )]
    AlreadyHeld {
        /// What was to be locked.
        key: Key,
    },
    /// The task that asks shares this lock, and would wait for itself: a reader cannot become a writer. Release
    /// first and look anew at what was read, or take the lock alone from the start and
    /// [downgrade](crate::LockGuard::downgrade) it.
    #[error(
        "`{key}` was not locked: this task holds it as a reader, and a reader cannot become a writer"
    )]
    Upgrade {
        /// What was to be locked.
        key: Key,
    },
    /// The key is in use as a semaphore and a lock was wanted, or the other way round.
    #[error(
        "`{key}` was not acquired: it is in use as the other of lock and semaphore; give each a key of its own"
    )]
    OtherKind {
        /// What was to be locked.
        key: Key,
    },
    /// The lock is not there to be taken up: the handover was taken up already, or its lease ran out, or the ticket is not
    /// the one that its giver made.
    #[error("`{key}` was not taken up: its handover is spent or has run out; acquire it anew")]
    HandoverSpent {
        /// What was to be taken up.
        key: Key,
    },
    /// The backend does not have this kind of lock.
    #[error("`{key}` was not acquired: this backend has no {what}")]
    Unsupported {
        /// What was to be locked.
        key: Key,
        /// What the backend does not have.
        what: &'static str,
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
            | Self::Upgrade { .. }
            | Self::OtherKind { .. }
            | Self::HandoverSpent { .. }
            | Self::Unsupported { .. }
            | Self::Key(_)
            | Self::Option(_)
            | Self::NoRuntime => false,
        }
    }
}
