use std::time::Duration;

use leasehold::EndReason;

/// The error of a [`ResponseBody`](crate::ResponseBody) that was cut off because its lock ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyCut {
    /// The lock was lost.
    #[error("the response body was cut off because its lock was lost: {reason}")]
    Lost {
        /// Why the lock was lost.
        reason: EndReason,
    },
    /// The body exceeded the time for which it may hold the lock.
    #[error("the response body was cut off because it held its lock for longer than {after:?}")]
    TooLong {
        /// The time limit of the body.
        after: Duration,
    },
}
