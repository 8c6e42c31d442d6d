//! The guard of a lock set.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::LockSetHandle;
use crate::engine::{Hold, renew_now};
use crate::{Ended, Error, FencingToken, LockSetReleaseError};

/// Several locks that are held as one.
///
/// The guard holds the locks until the guard is released or dropped, or until one of the locks is lost. After a loss
/// the work is not protected. The other locks stay held until the guard is dropped. The sections of
/// [`LockGuard`](crate::LockGuard), including the section about drop, also apply to this guard.
#[must_use = "the locks are released as soon as the guard is dropped; bind it to a name"]
#[clippy::has_significant_drop]
pub struct LockSetGuard {
    holds: Vec<Hold>,
    handle: LockSetHandle,
}

impl LockSetGuard {
    pub(super) fn new(holds: Vec<Hold>) -> Self {
        Self {
            handle: LockSetHandle::of(&holds),
            holds,
        }
    }

    /// Returns the keys as the caller named them, sorted and without duplicates.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.handle.keys()
    }

    /// Returns the fencing token of `key`, or `None` if `key` is not among the keys.
    #[must_use]
    pub fn token(&self, key: &str) -> Option<FencingToken> {
        self.handle.token(key)
    }

    /// Returns a view of these locks, which can be cloned and cannot release. The view contains a handle for each lock.
    #[must_use]
    pub fn handle(&self) -> LockSetHandle {
        self.handle.clone()
    }

    /// Returns whether all of the locks are still held; see [`LockHandle::is_valid`](crate::LockHandle::is_valid).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.handle.is_valid()
    }

    /// Returns how long all of the locks stay valid if no further renewal succeeds, and zero if one of them was lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.handle.valid_for()
    }

    /// Resolves when the lease of one of the locks has ended, and returns its key and the reason.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn ended(&self) -> impl Future<Output = Ended> + Send + use<> {
        self.handle.ended()
    }

    /// Runs `body` while all of the locks are held; see [`LockGuard::run`](crate::LockGuard::run).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if one of the locks was lost before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the locks stay held.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, dropping the
    /// guard releases the locks.
    pub fn run<T, E, B>(&self, body: B) -> impl Future<Output = Result<T, E>> + use<T, E, B>
    where
        B: AsyncFnOnce(LockSetHandle) -> Result<T, E>,
        E: From<Error>,
    {
        self.handle.run(body)
    }

    /// Renews all of the leases immediately, for the TTL; see [`LockGuard::renew`](crate::LockGuard::renew).
    ///
    /// # Errors
    ///
    /// Returns the error of the first renewal that failed.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the manager sends the renewals even if the future is dropped.
    pub async fn renew(&self) -> Result<(), Error> {
        let renewals = self
            .holds
            .iter()
            .map(|hold| renew_now(&hold.engine, &hold.lease));
        try_join_all(renewals).await.map(|_renewed| ())
    }

    /// Releases all of the locks concurrently, and waits until the backend has confirmed the releases.
    ///
    /// # Errors
    ///
    /// Returns [`Error::LockSetRelease`] if a lock was lost before, or if the backend did not confirm a release within
    /// the manager's command timeout. The guard is dropped anyway, and unconfirmed releases continue in the background.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the manager sends the releases even if the future is dropped.
    pub async fn release(self) -> Result<(), Error> {
        let (mut lost, mut unconfirmed) = (Vec::new(), Vec::new());
        for answer in join_all(self.holds.iter().map(Hold::release)).await {
            match answer {
                Ok(()) => {}
                Err(Error::Lost(it)) => lost.push(it),
                Err(Error::Unconfirmed(it)) => unconfirmed.push(it),
                Err(other) => return Err(other),
            }
        }
        if lost.is_empty() && unconfirmed.is_empty() {
            return Ok(());
        }
        Err(LockSetReleaseError::new(unconfirmed, lost).into())
    }

    /// Makes the lock on `key` lost, as if its lease had expired, to test how your code handles a loss. Returns false
    /// if `key` is not among the keys.
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    #[must_use = "false if nothing was lost"]
    pub fn simulate_loss(&self, key: &str) -> bool {
        let found = self
            .holds
            .iter()
            .find(|hold| hold.lease.claim.key.name() == key);
        // A lease that has already ended keeps its reason.
        let ended = found.map(|hold| hold.lease.end(crate::EndReason::Expired));
        ended.is_some()
    }
}

impl fmt::Debug for LockSetGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LockSetGuard").field(&self.handle).finish()
    }
}
