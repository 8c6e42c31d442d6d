//! The guard of a lock set.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::{LockSetHandle, LockSetReleaseOutcome, LockSetRun};
use crate::engine::{Hold, renew_now};
use crate::{FencingToken, LockSetReleaseError, Lost, ReleaseOutcome, RenewError};

/// Several locks that are held as one.
///
/// They are held until the guard is released or dropped, or until one of them is lost: what all of them protect is
/// then protected no more. The others stay taken until the guard goes. What [`LockGuard`](crate::LockGuard) says of a
/// guard, and of its drop, is true of this one.
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

    /// What is locked, as the caller named it, each once, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.handle.keys()
    }

    /// The fencing token of one of the keys; `None` if it is not among them.
    #[must_use]
    pub fn token(&self, key: &str) -> Option<FencingToken> {
        self.handle.token(key)
    }

    /// A view of these locks that can be cloned and cannot release; it has one for each of them.
    #[must_use]
    pub fn handle(&self) -> LockSetHandle {
        self.handle.clone()
    }

    /// Whether all of the locks are still held; see [`LockHandle::is_valid`](crate::LockHandle::is_valid).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.handle.is_valid()
    }

    /// How long all of the locks are surely held if no further renewal succeeds; zero once one is lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.handle.valid_for()
    }

    /// Resolves when one of the locks is no longer held, and says which and why.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + use<> {
        self.handle.lost()
    }

    /// Runs `body` while all of the locks are held; see [`LockGuard::run`](crate::LockGuard::run).
    ///
    /// # Errors
    ///
    /// [`Lost`] if one of the locks was lost before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the locks stay held.
    ///
    /// # Panics
    ///
    /// If `body` does: the guard then releases as it is dropped. And inside a tokio runtime that was built
    /// without `enable_time`.
    pub fn run<F: Future>(&self, body: F) -> LockSetRun<F> {
        self.handle.run(body)
    }

    /// Sets all of the leases anew to the TTL, now; see [`LockGuard::renew`](crate::LockGuard::renew).
    ///
    /// # Errors
    ///
    /// [`RenewError`] of the first lock that was not renewed.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the renewals take place even if the future is dropped.
    pub async fn renew(&self) -> Result<(), RenewError> {
        let renewals = self
            .holds
            .iter()
            .map(|hold| renew_now(&hold.engine, &hold.lease));
        try_join_all(renewals).await.map(|_renewed| ())
    }

    /// Releases all of the locks at once, and waits until the backend has confirmed it.
    ///
    /// # Errors
    ///
    /// [`LockSetReleaseError`] if there were releases without confirmation within the manager's command timeout. The
    /// guard is gone all the same, and the releases go on in the background.
    ///
    /// # Cancel safety
    ///
    /// From the first poll on, the releases take place even if the future is dropped.
    pub async fn release(self) -> Result<LockSetReleaseOutcome, LockSetReleaseError> {
        let answers = join_all(self.holds.iter().map(Hold::release)).await;
        let (mut lost, mut unconfirmed) = (Vec::new(), Vec::new());
        for (hold, answer) in self.holds.iter().zip(answers) {
            match answer {
                Ok(ReleaseOutcome::Released) => {}
                Ok(ReleaseOutcome::AlreadyLost(reason)) => lost.push(hold.lease.lost(reason)),
                Err(error) => unconfirmed.push(error),
            }
        }
        if !unconfirmed.is_empty() {
            return Err(LockSetReleaseError::new(unconfirmed, lost));
        }
        Ok(if lost.is_empty() {
            LockSetReleaseOutcome::Released
        } else {
            LockSetReleaseOutcome::AlreadyLost(lost)
        })
    }

    /// Makes the lock on `key` lost, as if its lease had run out, to test how your code takes it; false if it is
    /// not among the keys.
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    #[must_use = "false if nothing was lost"]
    pub fn simulate_loss(&self, key: &str) -> bool {
        let found = self
            .holds
            .iter()
            .find(|hold| hold.lease.claim.key.name() == key);
        // Lost already is lost.
        let ended = found.map(|hold| hold.lease.end(crate::LossReason::Expired));
        ended.is_some()
    }
}

impl fmt::Debug for LockSetGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LockSetGuard").field(&self.handle).finish()
    }
}
