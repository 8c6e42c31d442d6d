//! The errors of release and shutdown.

use super::BackendError;
use crate::{Key, Lost};

/// A release was sent and is not confirmed.
///
/// The guard no longer exists. The manager repeats the release in the background. The lock becomes free when the
/// backend confirms the release, or when the lease expires.
#[derive(Debug, thiserror::Error)]
#[error("releasing `{key}` is not confirmed yet; it continues in the background")]
#[non_exhaustive]
pub struct UnconfirmedRelease {
    /// The key of the lock.
    pub key: Key,
    /// The last error of the backend.
    pub source: BackendError,
}

impl UnconfirmedRelease {
    pub(crate) const fn new(key: Key, source: BackendError) -> Self {
        Self { key, source }
    }
}

/// Some locks of a set were lost before their release, or their releases are not confirmed.
///
/// The guard no longer exists. The manager repeats unconfirmed releases in the background. The locks become free when
/// the backend confirms the releases, or when the leases expire.
#[derive(Debug, thiserror::Error)]
#[error(
    "releasing a lock set: {} locks were lost, and {} releases are not confirmed yet; they continue in the background",
    lost.len(),
    unconfirmed.len()
)]
#[non_exhaustive]
pub struct LockSetReleaseError {
    /// The releases that are not confirmed.
    pub unconfirmed: Vec<UnconfirmedRelease>,
    /// The locks that were lost before the release.
    pub lost: Vec<Lost>,
}

impl LockSetReleaseError {
    pub(crate) const fn new(unconfirmed: Vec<UnconfirmedRelease>, lost: Vec<Lost>) -> Self {
        Self { unconfirmed, lost }
    }
}

/// A shutdown could not confirm every release in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "shutdown: {unconfirmed} releases or cleanups were not confirmed in time; their leases expire on their own"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// The number of releases and cleanups without a reply, including abandoned releases and cleanups.
    pub unconfirmed: usize,
}

impl ShutdownError {
    pub(crate) const fn new(unconfirmed: usize) -> Self {
        Self { unconfirmed }
    }
}
