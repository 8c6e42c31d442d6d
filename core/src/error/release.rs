//! The errors of release, renewal, downgrade and shutdown.

use crate::backend::BackendError;
use crate::{Key, Lost};

/// A release was sent and not confirmed.
///
/// The guard is gone all the same. The manager goes on trying in the background; at the latest the
/// lock is free when its lease runs out.
#[derive(Debug, thiserror::Error)]
#[error("the release of `{key}` is not confirmed yet; it goes on in the background")]
#[non_exhaustive]
pub struct ReleaseError {
    /// What was locked.
    pub key: Key,
    /// What the backend said last.
    pub source: BackendError,
}

impl ReleaseError {
    pub(crate) const fn new(key: Key, source: BackendError) -> Self {
        Self { key, source }
    }
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
    pub(crate) const fn new(unconfirmed: Vec<ReleaseError>, lost: Vec<Lost>) -> Self {
        Self { unconfirmed, lost }
    }
}

/// A renewal by hand that did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenewError {
    /// The lock was lost; acquire it anew.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The backend failed. The guard is valid until its deadline, and another try may succeed.
    #[error("the lease of `{key}` was not renewed: the backend failed")]
    Backend {
        /// What is locked.
        key: Key,
        /// What the backend said.
        source: BackendError,
    },
}

/// A lock was not downgraded or handed over. Its guard is gone: the lock is released in the background.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The backend does not have what it was to become; [`capabilities`](crate::LockManager::capabilities) tells before.
    #[error("`{key}` is being released: this backend has no {what}")]
    Unsupported {
        /// What was locked.
        key: Key,
        /// What the backend does not have.
        what: &'static str,
    },
    /// The lock was lost; acquire it anew.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The backend failed.
    #[error(
        "`{key}` is being released, as it was not downgraded or handed over: the backend failed"
    )]
    Backend {
        /// What was locked.
        key: Key,
        /// What the backend said.
        source: BackendError,
    },
}

/// A shutdown that could not confirm every release in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{unconfirmed} releases or cleanups were not confirmed in time; those leases run out by themselves"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// How many releases and cleanups had no answer yet, or were given up meanwhile.
    pub unconfirmed: usize,
}

impl ShutdownError {
    pub(crate) const fn new(unconfirmed: usize) -> Self {
        Self { unconfirmed }
    }
}
