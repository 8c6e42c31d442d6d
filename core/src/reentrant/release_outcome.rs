//! What the release of a reentrant lock found.

use crate::{LossReason, ReleaseOutcome};

/// How a release of a reentrant lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReentrantReleaseOutcome {
    /// It was the last guard in its scope: the lock was held to the end, and is free for the next.
    Released,
    /// Other guards in the scope hold the lock on.
    StillHeld,
    /// The lock was lost before, for all guards in the scope: what was done under it may have been done beside
    /// another holder.
    AlreadyLost(LossReason),
}

impl From<ReleaseOutcome> for ReentrantReleaseOutcome {
    fn from(outcome: ReleaseOutcome) -> Self {
        match outcome {
            ReleaseOutcome::Released => Self::Released,
            ReleaseOutcome::AlreadyLost(reason) => Self::AlreadyLost(reason),
        }
    }
}
