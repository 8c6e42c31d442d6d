use std::time::Duration;

use leasehold::LossReason;

/// A body was cut off, since it had to end with its lock. The error of a [`ResponseBody`](crate::ResponseBody).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyCut {
    /// The lock was lost.
    #[error("the body was cut off: the lock that it was sent under was lost, as {reason}")]
    Lost {
        /// Why.
        reason: LossReason,
    },
    /// The body took longer than it may hold the lock.
    #[error(
        "the body was cut off: it was not at its end after {after:?}, which is how long it may hold its lock"
    )]
    TooLong {
        /// How long it might have taken.
        after: Duration,
    },
}
