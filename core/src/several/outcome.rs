use crate::{Lost, ReleaseError};

/// How a release of several locks ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockSetReleaseOutcome {
    /// All were held to the end, and are free for the next.
    Released,
    /// These were lost before, and the others are released: what was done under the locks may have been done beside
    /// another holder.
    AlreadyLost(Vec<Lost>),
}

/// The releases of some of several locks were sent and not confirmed.
///
/// The guard is gone all the same. The manager goes on trying in the background; at the latest the locks are free
/// when their leases run out.
#[derive(Debug, thiserror::Error)]
#[error("{} of several locks are not confirmed to be released yet; that goes on in the background", unconfirmed.len())]
#[non_exhaustive]
pub struct LockSetReleaseError {
    /// What went wrong, per key.
    pub unconfirmed: Vec<ReleaseError>,
    /// What was lost before.
    pub lost: Vec<Lost>,
}

impl LockSetReleaseError {
    pub(super) const fn new(unconfirmed: Vec<ReleaseError>, lost: Vec<Lost>) -> Self {
        Self { unconfirmed, lost }
    }
}
