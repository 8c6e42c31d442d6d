//! The guard of a lock that was acquired without async.

use std::sync::Arc;
use std::time::Duration;

use super::blocking_runtime::BlockingRuntime;
use crate::lock::kind::{Exclusive, Fenced, Kind, Releasable};
use crate::{Error, FencingToken, LockHandle};

/// A held lock: see the async [`LockGuard`](crate::LockGuard).
///
/// Dropping the guard releases the lock in the background.
#[derive(Debug)]
#[must_use = "the lock is released as soon as the guard is dropped; bind it to a name"]
#[clippy::has_significant_drop]
pub struct LockGuard<K: Kind = Exclusive> {
    // This field is first, so that the guard is dropped before the runtime, which executes the guard's release.
    guard: crate::LockGuard<K>,
    runtime: Arc<BlockingRuntime>,
}

impl<K: Fenced> LockGuard<K> {
    /// Returns the fencing token of this acquisition: see [`LockGuard::token`](crate::LockGuard::token).
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.guard.token()
    }
}

impl<K: Kind> LockGuard<K> {
    pub(super) const fn new(guard: crate::LockGuard<K>, runtime: Arc<BlockingRuntime>) -> Self {
        Self { guard, runtime }
    }

    /// Returns the key, as the caller named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.guard.key()
    }

    /// Returns a handle, which can be cloned and cannot release.
    #[must_use]
    pub fn handle(&self) -> LockHandle<K> {
        self.guard.handle()
    }

    /// Returns whether the lock is still held: see [`LockHandle::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.guard.is_valid()
    }

    /// Returns how long the lock stays valid if no further renewal succeeds, and zero if the lock was lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.guard.valid_for()
    }

    /// Renews the lease immediately: see [`LockGuard::renew`](crate::LockGuard::renew).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost, and [`Error::Backend`] if the backend failed. Returns
    /// [`Error::Blocking`] inside an async runtime.
    pub fn renew(&self) -> Result<(), Error> {
        self.runtime.block_on(self.guard.renew())?
    }
}

impl<K: Releasable> LockGuard<K> {
    /// Releases the lock, and blocks until the backend has confirmed the release.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost before, and [`Error::Unconfirmed`] if the backend did not confirm
    /// the release in time. Returns [`Error::Blocking`] inside an async runtime; the manager then releases the lock in
    /// the background.
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.guard.release())?
    }
}
