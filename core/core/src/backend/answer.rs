//! The answers of a backend to attempts, renewals and releases.

use std::time::Duration;

use super::Outcome;
use crate::FencingToken;

/// The reply to an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptAnswer {
    /// The caller holds the lock.
    Granted {
        /// The fencing token of this acquisition. The reply to a duplicate request contains the same token.
        token: FencingToken,
        /// The duration of the lease, from the moment when the backend granted the lock.
        lease: Duration,
    },
    /// Another holder has the lock, or another waiter is before the caller.
    Busy {
        /// The time after which another attempt is due, even without a notification.
        retry_after: Duration,
    },
    /// The backend will not grant the lock, however long the caller waits. The backend stores nothing about the
    /// attempt.
    Refused(Refusal),
    /// The attempt has the flag [`once`](super::Attempt::once), and the backend keeps the outcome of an earlier holder.
    /// The backend stores nothing about the attempt.
    Recorded(Outcome),
}

/// The reason why an attempt can never succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The key is already used as a semaphore and the attempt wants a lock, or the reverse.
    OtherKind,
    /// The previous holder does not hold the lock. Its lease has expired, or the handover was already accepted. The
    /// previous holder may also have registered no handover with this token and secret.
    HandoverSpent,
}

/// The reply to the renewal of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewAnswer {
    /// The claim's owner still holds the lock.
    Extended {
        /// The duration of the lease, from the moment when the backend extended the lease.
        lease: Duration,
    },
    /// The claim's owner does not hold the lock, and cannot hold it again.
    Gone,
}

/// The reply to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// This command released the lock.
    Released,
    /// The claim's owner did not hold the lock when the backend executed this command.
    AlreadyGone,
}
