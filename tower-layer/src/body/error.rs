use std::time::Duration;

use leasehold_core::EndReason;

/// The error of a [`ResponseBody`](crate::ResponseBody) that ended early because its lease ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyCut {
    /// The lock was lost.
    #[error("the response body was cut off because its lock was lost: {reason}")]
    Lost {
        /// The reason for the loss.
        reason: EndReason,
    },
    /// The body held the lock for longer than its time limit.
    #[error("the response body was cut off because it held its lock for longer than {after:?}")]
    TooLong {
        /// The time limit of the body.
        after: Duration,
    },
}
