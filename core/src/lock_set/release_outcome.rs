//! What the release of a lock set found.

use crate::Lost;

/// How a release of several locks ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockSetReleaseOutcome {
    /// All were held to the end, and are free for the next.
    Released,
    /// These were lost before, and the others are released: what was done under the locks may have been done beside
    /// another holder.
    AlreadyLost(Vec<Lost>),
}
