//! A lock on one key: its options, and the ways to acquire it.

pub(crate) mod guard;
pub(crate) mod held_handle;
pub mod kind;
pub(crate) mod permit_id;
pub(crate) mod run;
pub(crate) mod run_under;
pub(crate) mod self_deadlock;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::backend::{Handover, Mode};
use super::engine::{AcquireRequest, BusyPolicy, Engine, HoldRef};
use super::options::{LockOptions, validate_permits};
use super::{AcquireError, Error, InvalidKey, Key, LockGuard, LockHandle, OwnerScope};
use kind::{Exclusive, Kind, Permits, Reentrant, Releasable};
use run_under::run_under;
use self_deadlock::check_self_deadlock;

/// A lock that can be acquired: a key and how to hold it. Made by
/// [`LockManager::lock`](crate::LockManager::lock).
///
/// # Default
///
/// A TTL of 30 s, renewed at a third of it for as long as the guard lives, and a wait without end.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::LockManager;
///
/// let locks = LockManager::in_process();
/// let guard = locks
///     .lock("order:42")
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(5))
///     .acquire()
///     .await?;
///
/// // Busy is not an error.
/// assert!(locks.lock("order:42").try_acquire().await?.is_none());
/// # Ok(())
/// # }
/// ```
#[must_use = "a lock does nothing until it is acquired"]
pub struct Lock<K: Kind = Exclusive> {
    engine: Arc<Engine>,
    key: Result<Key, InvalidKey>,
    mode: Mode,
    handover: Option<Box<Handover>>,
    scope: Option<OwnerScope>,
    options: LockOptions,
    kind: PhantomData<fn() -> K>,
}

impl Lock {
    /// The same lock, to be held by `scope`: whoever acquires it there while it is held shares it, without a wait
    /// and without asking the backend. It is released with the last of the guards.
    ///
    /// All options but `wait` are those of whoever acquires it first. Others in the same scope that acquire it meanwhile
    /// wait for that attempt; who does not wait is told that it is busy.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::kind::Reentrant;
    /// use leasehold::{LockGuard, LockManager, OwnerScope};
    ///
    /// async fn ship(locks: &LockManager, owner: &OwnerScope) -> Result<i64, leasehold::Error> {
    ///     let guard: LockGuard<Reentrant> = locks.lock("order:42").reentrant(owner).acquire().await?;
    ///     pack(locks, owner).await?;
    ///     Ok(guard.token().get())
    /// }
    ///
    /// async fn pack(locks: &LockManager, owner: &OwnerScope) -> Result<i64, leasehold::Error> {
    ///     let guard = locks.lock("order:42").reentrant(owner).acquire().await?;
    ///     Ok(guard.token().get())
    /// }
    ///
    /// let locks = LockManager::in_process();
    /// assert!(ship(&locks, &OwnerScope::new()).await? < pack(&locks, &OwnerScope::new()).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reentrant(self, scope: &OwnerScope) -> Lock<Reentrant> {
        Lock {
            engine: self.engine,
            key: self.key,
            mode: self.mode,
            handover: self.handover,
            scope: Some(scope.clone()),
            options: self.options,
            kind: PhantomData,
        }
    }
}

impl Lock<Permits> {
    /// How many permits to take; one if not said. They are granted together, and released together.
    pub fn permits(mut self, count: u32) -> Self {
        if let Mode::Permits { of, .. } = self.mode {
            self.mode = Mode::Permits { count, of };
        }
        self
    }
}

impl<K: Kind> Lock<K> {
    pub(crate) fn new(
        engine: Arc<Engine>,
        key: Result<Key, InvalidKey>,
        mode: Mode,
        options: LockOptions,
    ) -> Self {
        Self {
            engine,
            key,
            mode,
            handover: None,
            scope: None,
            options,
            kind: PhantomData,
        }
    }

    pub(crate) fn taking_up(mut self, handover: Handover) -> Self {
        self.handover = Some(Box::new(handover));
        self
    }

    /// How long the lock stays taken if its holder falls silent. With renewal on this is the time after
    /// a crash; with renewal off the hold's own length. From what the backend can keep (10 ms in process)
    /// to [`MAX_TTL`](crate::MAX_TTL).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// How long [`acquire`](Self::acquire) waits for a busy lock. Zero asks once and never queues;
    /// `Duration::MAX` waits for ever, which is the default.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// The longest time the lock may be held, renewals included. The guard is then lost with
    /// [`LossReason::MaxHold`](crate::LossReason::MaxHold), and the lock is free when the guard is
    /// dropped, or when its last lease has run out.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Leaves the lease to its TTL: nothing renews it but [`LockGuard::renew`].
    pub fn without_renewal(mut self) -> Self {
        self.options.renewal = false;
        self
    }

    /// Acquires the lock, waiting for it if it is busy.
    ///
    /// # Errors
    ///
    /// - [`AcquireError::TimedOut`]: busy for the whole wait.
    /// - [`AcquireError::Closed`]: the manager was shut down.
    /// - [`AcquireError::Backend`]: the backend kept failing for the manager's outage limit, or until
    ///   the wait was over. One command that is under way may take the command timeout beyond that.
    /// - [`AcquireError::AlreadyHeld`], [`AcquireError::Upgrade`]: this task holds it, in a
    ///   [`scope`](crate::LockHandle::scope) or in an [`OwnerScope`] that it has entered.
    /// - [`AcquireError::OtherKind`]: the key is in use as a semaphore and this is a lock, or the other way round.
    /// - [`AcquireError::HandoverSpent`]: it is not there to be taken up, or not by this ticket.
    /// - [`AcquireError::Unsupported`]: the backend does not have this kind of lock.
    /// - [`AcquireError::Key`], [`AcquireError::Option`]: what was asked for cannot work.
    /// - [`AcquireError::NoRuntime`]: not polled by a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in the queue up. What it may have left on the backend is
    /// cleaned up in the background.
    ///
    /// # Panics
    ///
    /// If the tokio runtime was built without `enable_time`.
    pub fn acquire(
        self,
    ) -> impl Future<Output = Result<LockGuard<K>, AcquireError>> + Send + use<K> {
        // Not an `async fn`: it would keep the lock twice.
        self.take(true)
    }

    /// Acquires the lock if it is free, and answers `None` if it is busy.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), without a wait: the first failure of the backend is the answer,
    /// and an outage is never reported as busy. A lock that this task holds itself is busy.
    ///
    /// # Cancel safety
    ///
    /// What a dropped future may have left on the backend is cleaned up in the background.
    ///
    /// # Panics
    ///
    /// If the tokio runtime was built without `enable_time`.
    pub fn try_acquire(
        self,
    ) -> impl Future<Output = Result<Option<LockGuard<K>>, AcquireError>> + Send + use<K> {
        self.take(false).map(|taken| match taken {
            Ok(guard) => Ok(Some(guard)),
            Err(AcquireError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    async fn take(self, may_wait: bool) -> Result<LockGuard<K>, AcquireError> {
        let key = self.key?;
        supported(self.mode, self.handover.is_some(), &self.engine, &key)?;
        if let Mode::Permits { count, of } = self.mode {
            validate_permits(count, of)?;
        }
        let can = self.engine.backend().capabilities();
        self.options.validate(can.least_ttl, can.most_ttl)?;
        let scope = self.scope.as_ref();
        // Nobody shares what a ticket stands for before it is taken up.
        if let Some(scope) = scope.filter(|_| self.handover.is_none())
            && let Some(hold) = scope.share(&self.engine, &key)
        {
            return Ok(LockGuard::new(HoldRef::Shared(hold)));
        }
        if may_wait {
            check_self_deadlock(self.mode, &self.engine, &key, scope)?;
        }
        let patience = BusyPolicy::of(&self.options, may_wait);
        let wanted = AcquireRequest {
            key,
            mode: self.mode,
            handover: self.handover,
        };
        let (engine, options) = (&self.engine, &self.options);
        let hold = match scope {
            Some(scope) => {
                // On the heap: the futures of other locks are not to be larger for it.
                HoldRef::Shared(Box::pin(scope.acquire(engine, &wanted, options, patience)).await?)
            }
            None => HoldRef::Whole(engine.acquire(&wanted, options, patience).await?),
        };
        Ok(LockGuard::new(hold))
    }
}

impl<K: Releasable> Lock<K> {
    /// Acquires the lock, runs `body` while it is held, and releases it.
    ///
    /// When the lock is lost, `body` is dropped where it stands. A loss is an error even if `body` had completed: then
    /// its work is done, and may have been done beside another holder; what it answered is dropped. A release that is
    /// not confirmed is no error, for `body` ran under its lock to its end; it goes on in the background. Errors of its
    /// own are in what `body` answers.
    ///
    /// # Errors
    ///
    /// [`Error::Acquire`] if it was not acquired: `body` did not begin. [`Error::LostInBody`] if it was lost; it says
    /// whether `body` had completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`, or ends the acquire, and releases in the background.
    ///
    /// # Panics
    ///
    /// If `body` does: the lock is then released in the background. And if the tokio runtime was built without
    /// `enable_time`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    ///
    /// let locks = LockManager::in_process();
    /// let shipped = locks
    ///     .lock("order:42")
    ///     .run(async |lock| format!("shipped under token {}", lock.token()))
    ///     .await?;
    /// assert!(shipped.starts_with("shipped"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T>(self, body: impl AsyncFnOnce(LockHandle<K>) -> T) -> Result<T, Error> {
        run_under(self.acquire().await?, body).await
    }
}

fn supported(
    mode: Mode,
    is_taken_up: bool,
    engine: &Engine,
    key: &Key,
) -> Result<(), AcquireError> {
    let capabilities = engine.backend().capabilities();
    let what = match mode {
        Mode::Shared if !capabilities.shared => "readers that share a lock",
        Mode::Permits { .. } if !capabilities.permits => "semaphores",
        _ if is_taken_up && !capabilities.handover => "locks that are handed over",
        _ => return Ok(()),
    };
    let key = key.clone();
    Err(AcquireError::Unsupported { key, what })
}

impl<K: Kind> Clone for Lock<K> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            key: self.key.clone(),
            mode: self.mode,
            handover: self.handover.clone(),
            scope: self.scope.clone(),
            options: self.options,
            kind: PhantomData,
        }
    }
}

impl<K: Kind> fmt::Debug for Lock<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("key", &self.key)
            .field("mode", &self.mode)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
