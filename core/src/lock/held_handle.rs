//! A cloneable view of a held lock.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::kind::{Exclusive, Fenced, Kind, Permits};
use crate::backend::Mode;
use crate::engine::{Lease, LeaseEnd};
use crate::{FencingToken, LossReason, Lost, Run, SlotToken, held_context};

/// A view of a held lock, to give to those who work under it.
///
/// It can be cloned and sent anywhere, and it cannot release: only the [`LockGuard`](crate::LockGuard)
/// does that. It outlives the guard, and then says so.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, LossReason};
///
/// let guard = LockManager::in_process().lock("order:42").acquire().await?;
/// let handle = guard.handle();
/// let watcher = tokio::spawn(async move { handle.lost().await });
/// guard.release().await?;
/// assert_eq!(watcher.await.unwrap().reason, LossReason::Released);
/// # Ok(())
/// # }
/// ```
pub struct LockHandle<K: Kind = Exclusive> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Fenced> LockHandle<K> {
    /// The fencing token of this acquisition. It stays the same, and stays readable after a loss.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.lease.claim.token
    }
}

impl LockHandle<Permits> {
    /// What tells this holder from the others.
    #[must_use]
    pub fn slot_token(&self) -> SlotToken {
        SlotToken::new(self.lease.claim.token.get())
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u32 {
        match self.lease.claim.mode {
            Mode::Permits { count, .. } => count,
            Mode::Exclusive | Mode::Shared => 1,
        }
    }
}

impl<K: Kind> LockHandle<K> {
    pub(crate) fn new(lease: &Arc<Lease>) -> Self {
        Self {
            lease: Arc::clone(lease),
            kind: PhantomData,
        }
    }

    /// What is locked, as the caller named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.lease.claim.key.name()
    }

    /// Whether the lock is still held, by this process's own clock, at this moment.
    ///
    /// It asks nobody and is right at once after a pause of the process. By the time the answer is
    /// used it may have changed: writes are protected by their token, not by this.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lease.validity().is_ok()
    }

    /// How long the lock is surely held if no further renewal succeeds; zero once it is lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.lease.validity().unwrap_or_default()
    }

    /// Resolves when the lock is no longer held, with the reason. A release is one of them:
    /// [`is_wanted`](crate::LossReason::is_wanted) tells it from an accident.
    ///
    /// At the latest at the deadline: when the last confirmed renewal was *sent*, plus the TTL, less
    /// a margin for drifting clocks. Resolves at once if the lock is lost already. The future does
    /// not borrow the handle.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + use<K> {
        let lease = Arc::clone(&self.lease);
        async move {
            let reason = LeaseEnd::new(Arc::clone(&lease)).await;
            lease.lost(reason)
        }
    }

    /// Runs `body` while the lock is held, as [`LockGuard::run`](crate::LockGuard::run) does: for a task that works
    /// under a lock whose guard is elsewhere.
    ///
    /// # Errors
    ///
    /// [`Lost`] if the lock was lost, or released, before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the lock stays held.
    ///
    /// # Panics
    ///
    /// If `body` does, and inside a tokio runtime that was built without `enable_time`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    ///
    /// let guard = LockManager::in_process().lock("import").acquire().await?;
    /// let part = |number: u64| {
    ///     let lock = guard.handle();
    ///     tokio::spawn(async move { lock.run(async { number * 10 }).await })
    /// };
    /// let parts: Vec<_> = (0..4).map(part).collect();
    /// let mut rows = 0;
    /// for part in parts {
    ///     rows += part.await.expect("no part panics")?;
    /// }
    /// assert_eq!(rows, 60);
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn run<F: Future>(&self, body: F) -> Run<F> {
        Run::new(&self.lease, body)
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    pub(crate) fn lost_for(&self, reason: LossReason) -> Lost {
        self.lease.lost(reason)
    }

    /// Runs `task` as the holder of this lock: inside it, [`acquire`](crate::Lock::acquire) of the same key
    /// through the same manager or a clone of it is [`AlreadyHeld`](crate::AcquireError::AlreadyHeld) at once,
    /// for as long as the lock is valid. Outside of it, and of [`run`](Self::run), a task that locks what it holds waits
    /// for itself; and so does one that takes more permits than there are, for which nobody is refused.
    ///
    /// Scopes nest. Tasks that `task` spawns are not in its scope.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{AcquireError, LockManager};
    ///
    /// let locks = LockManager::in_process();
    /// let guard = locks.lock("order:42").acquire().await?;
    /// let nested = guard.handle().scope(locks.lock("order:42").acquire()).await;
    /// assert!(matches!(nested, Err(AcquireError::AlreadyHeld { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// As safe as `task`.
    pub fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<K, F> {
        held_context::scope([Arc::clone(&self.lease)], task)
    }
}

impl<K: Kind> Clone for LockHandle<K> {
    fn clone(&self) -> Self {
        Self::new(&self.lease)
    }
}

impl<K: Kind> fmt::Debug for LockHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockHandle")
            .field("key", &self.key())
            .field("token", &self.lease.claim.token)
            .field("valid_for", &self.valid_for())
            .finish()
    }
}
