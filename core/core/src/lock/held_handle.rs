//! A cloneable view of a held lock.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::body_until_loss::RunFuture;
use super::kind::{Exclusive, Fenced, Kind, Permits};
use crate::backend::{Claim, Mode};
use crate::engine::{Lease, LeaseEnd};
use crate::{AttemptId, Ended, Error, FencingToken, Lost, PermitId, held_locks_of_task};

/// A view of a held lock, for code that works under it.
///
/// A handle can be cloned and sent anywhere. A handle cannot release the lock; only the [`LockGuard`](crate::LockGuard)
/// can. A handle may outlive the guard, and then reports the end of the lease.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, EndReason};
///
/// let guard = LockManager::in_process().lock("order:42").acquire().await?;
/// let handle = guard.handle();
/// let watcher = tokio::spawn(async move { handle.ended().await });
/// guard.release().await?;
/// assert_eq!(watcher.await.unwrap().reason, EndReason::Released);
/// # Ok(())
/// # }
/// ```
pub struct LockHandle<K: Kind = Exclusive> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Fenced> LockHandle<K> {
    /// Returns the fencing token of this acquisition. The token never changes, and stays readable after a loss.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.lease.claim.token
    }
}

impl LockHandle<Permits> {
    /// Returns the id of these permits, which differs from the ids of all other holders.
    #[must_use]
    pub fn permit_id(&self) -> PermitId {
        PermitId::new(self.lease.claim.token.get())
    }

    /// Returns the number of permits that the guard holds.
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

    /// Returns the key, as the caller named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.lease.claim.key.name()
    }

    /// Returns the id of the attempt that acquired the lock. No other acquisition has the same id.
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        self.lease.claim.owner
    }

    /// Returns the claim that identifies this lock on its backend, for code that checks the lock in the backend's store.
    ///
    /// **Unstable**: like the module [`backend`](crate::backend), this method may change in any minor release.
    #[must_use]
    pub fn claim(&self) -> &Claim {
        &self.lease.claim
    }

    /// Returns whether the lock is still held at this moment, by this process's own clock.
    ///
    /// `is_valid` sends no request, and is correct immediately after a pause of the process. The result may be outdated
    /// when you use it: protect writes with the token, not with this check.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lease.validity().is_ok()
    }

    /// Returns how long the lock stays valid if no further renewal succeeds, and zero if the lock was lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.lease.validity().unwrap_or_default()
    }

    /// Checks that the lock is still held, as [`is_valid`](Self::is_valid) does.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] with the reason if the lock has ended. A release is one of the reasons.
    pub fn check(&self) -> Result<(), Error> {
        self.end().map_or(Ok(()), |lost| Err(lost.into()))
    }

    /// Returns how the lock ended, as [`ended`](Self::ended) does, or `None` while the lock is held.
    #[must_use]
    pub fn end(&self) -> Option<Lost> {
        let reason = self.lease.validity().err()?;
        Some(self.lease.lost(reason))
    }

    /// Resolves when the lock ends, and returns the reason. A release is one of the reasons:
    /// [`is_voluntary`](crate::EndReason::is_voluntary) distinguishes it from an involuntary loss.
    ///
    /// The future resolves no later than the deadline. The deadline is the time at which the last confirmed renewal was
    /// *sent*, plus the TTL, less a margin for clock drift. The future resolves immediately if the lock is already
    /// lost, and does not borrow the handle.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn ended(&self) -> impl Future<Output = Ended> + Send + use<K> {
        let lease = Arc::clone(&self.lease);
        async move {
            let reason = LeaseEnd::new(Arc::clone(&lease)).await;
            lease.ended(reason)
        }
    }

    /// Runs `body` while the lock is held, as [`LockGuard::run`](crate::LockGuard::run) does. Use this method in a task
    /// that works under a lock but does not have the guard.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost, or released, before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the lock stays held.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`.
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
    ///     tokio::spawn(async move { lock.run(async |_| Ok::<_, leasehold::Error>(number * 10)).await })
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
    pub fn run<T, E, B>(&self, body: B) -> impl Future<Output = Result<T, E>> + use<K, T, E, B>
    where
        B: AsyncFnOnce(Self) -> Result<T, E>,
        E: From<Error>,
    {
        // An async block would store the body twice.
        let running = self.run_future(body(self.clone()));
        running.map(|ran| ran.unwrap_or_else(|lost| Err(Error::from(lost).into())))
    }

    /// Runs a future as the holder, and drops it when the lock is lost.
    pub(crate) fn run_future<F: Future>(&self, body: F) -> RunFuture<F> {
        RunFuture::new(&self.lease, body)
    }

    /// Makes the lock lost, as [`LockGuard::simulate_loss`](crate::LockGuard::simulate_loss) does. Use it in a body that
    /// does not have the guard, such as the body of a [campaign](crate::Election::campaign).
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    pub fn simulate_loss(&self) {
        // A lease that has already ended keeps its reason.
        let _ended = self.lease.end(crate::EndReason::Expired);
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// Runs `task` as the holder of this lock. Inside `task`, an [`acquire`](crate::Lock::acquire) of the same key
    /// through the same manager returns [`AlreadyHeld`](crate::Error::AlreadyHeld) immediately, as long as the lock is
    /// valid. Clones count as the same manager. Outside `scope` and [`run`](Self::run), a task that acquires a lock it
    /// already holds deadlocks. An acquire of a semaphore never returns this error, so a task that acquires too many
    /// permits also deadlocks.
    ///
    /// Inside `task`, [`current_lock`](crate::current_lock) returns this lock. Scopes can be nested. Tasks that `task`
    /// spawns are not in its scope.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{Error, LockManager};
    ///
    /// let locks = LockManager::in_process();
    /// let guard = locks.lock("order:42").acquire().await?;
    /// let nested = guard.handle().scope(locks.lock("order:42").acquire()).await;
    /// assert!(matches!(nested, Err(Error::AlreadyHeld { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe if `task` is cancel safe.
    pub fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<K, F> {
        held_locks_of_task::scope([Arc::clone(&self.lease)], task)
    }

    /// Runs `task` as the holder of this lock, as [`scope`](Self::scope) does, but its token does not fence what `task`
    /// writes: [`current_lock`](crate::current_lock) skips this lock, also in a surrounding scope of it.
    ///
    /// Use it for a lock that guards something else than the data that `task` writes. Otherwise writes to the same data
    /// under locks of different keys carry unrelated tokens, and a resource refuses those with the smaller ones.
    /// `IdempotencyLayer` of `leasehold-tower` runs its handler so, because its lock guards a request.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{LockManager, current_lock};
    ///
    /// let locks = LockManager::in_process();
    /// let request = locks.lock("request:7f3a").acquire().await?;
    /// let account = locks.lock("account:3").acquire().await?;
    /// let deposit = async {
    ///     assert!(current_lock().is_err());
    ///     account.handle().scope(async { current_lock().map(|lock| lock.token()) }).await
    /// };
    /// let token = request.handle().scope_without_fence(deposit).await?;
    /// assert_eq!(token, account.token());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe if `task` is cancel safe.
    pub fn scope_without_fence<F: Future>(
        &self,
        task: F,
    ) -> impl Future<Output = F::Output> + use<K, F> {
        held_locks_of_task::scope_without_fence([Arc::clone(&self.lease)], task)
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
