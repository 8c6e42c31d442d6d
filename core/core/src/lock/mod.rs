//! A lock on one key: its options, and the ways to acquire it.

pub(crate) mod accept_handover;
pub(crate) mod body_until_loss;
pub(crate) mod election;
pub(crate) mod guard;
pub(crate) mod held_handle;
pub mod kind;
#[cfg(feature = "once")]
pub(crate) mod once;
mod options;
pub(crate) mod permit_id;
pub(crate) mod reentrant_run;
mod run_blocking;
pub(crate) mod run_guard;
pub(crate) mod rw_lock;
pub(crate) mod self_deadlock;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use futures_util::FutureExt;

use super::backend::{Handover, Mode};
use super::engine::{AcquireRequest, BusyPolicy, Engine, HoldRef};
use super::options::{AcquireOptions, validate_permits};
use super::{Error, InvalidKey, Key, LockGuard, LockHandle, Operation, ReentrancyScope};
use kind::{Exclusive, Kind, Permits, Reentrant, Releasable};
use run_guard::run_under;
use self_deadlock::check_self_deadlock;

/// A lock that can be acquired: a key, a mode and options. [`LockManager::lock`](crate::LockManager::lock) returns a
/// `Lock`.
///
/// # Default
///
/// The TTL is 30 s, and the wait is unlimited. The watchdog renews the lease at a third of the TTL while the guard
/// lives.
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
    /// The error is boxed, so that a lock is cheap to move.
    key: Result<Key, Box<InvalidKey>>,
    handover: Option<Box<Handover>>,
    scope: Option<ReentrancyScope>,
    options: AcquireOptions,
    kind: PhantomData<fn() -> K>,
}

impl Lock {
    /// Makes the lock reentrant in `scope`. While the scope holds the lock, acquires in that scope return further
    /// guards, without a wait or a request to the backend. Releasing or dropping the last guard releases the lock.
    ///
    /// The first acquire in the scope sets all options except `wait`. Concurrent acquires in the same scope wait for
    /// the first acquire; `try_acquire` returns `None` during that time.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::kind::Reentrant;
    /// use leasehold::{LockGuard, LockManager, ReentrancyScope};
    ///
    /// async fn ship(locks: &LockManager, owner: &ReentrancyScope) -> Result<i64, leasehold::Error> {
    ///     let guard: LockGuard<Reentrant> = locks.lock("order:42").reentrant(owner).acquire().await?;
    ///     pack(locks, owner).await?;
    ///     Ok(guard.token().get())
    /// }
    ///
    /// async fn pack(locks: &LockManager, owner: &ReentrancyScope) -> Result<i64, leasehold::Error> {
    ///     let guard = locks.lock("order:42").reentrant(owner).acquire().await?;
    ///     Ok(guard.token().get())
    /// }
    ///
    /// let locks = LockManager::in_process();
    /// assert!(ship(&locks, &ReentrancyScope::new()).await? < pack(&locks, &ReentrancyScope::new()).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reentrant(self, scope: &ReentrancyScope) -> Lock<Reentrant> {
        Lock {
            engine: self.engine,
            key: self.key,
            handover: self.handover,
            scope: Some(scope.clone()),
            options: self.options,
            kind: PhantomData,
        }
    }
}

impl Lock<Permits> {
    /// Acquires `permits` permits, and waits if too few are free. The backend grants and releases these permits
    /// together.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire), and [`Error::Option`] if `permits` is zero or larger than the
    /// limit of the semaphore.
    ///
    /// # Cancel safety
    ///
    /// See [`acquire`](Self::acquire).
    pub fn acquire_many(
        self,
        permits: u32,
    ) -> impl Future<Output = Result<LockGuard<Permits>, Error>> + Send {
        self.with_count(permits).take(true)
    }

    /// Acquires `permits` permits if they are free, and returns `None` if too few are free.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`try_acquire`](Self::try_acquire), and [`Error::Option`] if `permits` is zero or larger
    /// than the limit of the semaphore.
    ///
    /// # Cancel safety
    ///
    /// See [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_many(
        self,
        permits: u32,
    ) -> impl Future<Output = Result<Option<LockGuard<Permits>>, Error>> + Send {
        self.with_count(permits).try_acquire()
    }

    fn with_count(mut self, count: u32) -> Self {
        if let Mode::Permits { of, .. } = self.options.mode {
            self.options.mode = Mode::Permits { count, of };
        }
        self
    }
}

impl<K: Kind> Lock<K> {
    #[track_caller]
    pub(crate) fn new(
        engine: Arc<Engine>,
        key: Result<Key, InvalidKey>,
        mode: Mode,
        options: AcquireOptions,
    ) -> Self {
        Self {
            engine,
            key: key.map_err(Box::new),
            handover: None,
            scope: None,
            options: AcquireOptions {
                mode,
                place: Some(Location::caller()),
                ..options
            },
            kind: PhantomData,
        }
    }

    pub(crate) fn accepting(mut self, handover: Handover) -> Self {
        self.handover = Some(Box::new(handover));
        self
    }

    /// Acquires the lock, and waits while the lock is busy.
    ///
    /// # Errors
    ///
    /// - [`Error::TimedOut`]: the lock was busy for the whole wait.
    /// - [`Error::Closed`]: the manager was shut down.
    /// - [`Error::Backend`]: the backend failed for the manager's whole backend retry timeout, or until the wait had
    ///   elapsed. A command in progress may exceed these limits by up to the command timeout.
    /// - [`Error::AlreadyHeld`], [`Error::Upgrade`]: this task already holds the lock, in a
    ///   [`scope`](crate::LockHandle::scope) or in a [`ReentrancyScope`] that it has entered.
    /// - [`Error::OtherKind`]: the key is already used as a semaphore and this is a lock, or the reverse.
    /// - [`Error::HandoverSpent`]: the lock cannot be accepted with this ticket.
    /// - [`Error::Unsupported`]: the backend does not support this kind of lock, or `hold_at_least`.
    /// - [`Error::Key`], [`Error::Option`]: the key or an option is invalid.
    /// - [`Error::NoRuntime`]: the future was polled outside a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes it lose its position in the queue. The manager undoes its request in the background.
    ///
    /// # Panics
    ///
    /// Panics if the tokio runtime was built without `enable_time`.
    #[track_caller]
    pub fn acquire(mut self) -> impl Future<Output = Result<LockGuard<K>, Error>> + Send + use<K> {
        self.options.place = Some(Location::caller());
        self.take(true)
    }

    /// Acquires the lock if it is free, and returns `None` if it is busy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire) except `TimedOut`. `try_acquire` does not retry failures of the
    /// backend, and never reports an outage as busy. A lock that this task itself holds counts as busy.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the manager undoes its request in the background.
    ///
    /// # Panics
    ///
    /// Panics if the tokio runtime was built without `enable_time`.
    #[track_caller]
    pub fn try_acquire(
        mut self,
    ) -> impl Future<Output = Result<Option<LockGuard<K>>, Error>> + Send + use<K> {
        self.options.place = Some(Location::caller());
        self.take(false).map(|taken| match taken {
            Ok(guard) => Ok(Some(guard)),
            Err(Error::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn take(
        self,
        may_wait: bool,
    ) -> impl Future<Output = Result<LockGuard<K>, Error>> + Send + use<K> {
        let busy_policy = BusyPolicy::of(&self.options, may_wait);
        // This is not an `async fn`, which would store the lock twice.
        async move {
            let key = self.key.map_err(|error| *error)?;
            let (mode, is_taken_up) = (self.options.mode, self.handover.is_some());
            supported(mode, is_taken_up, &self.options, &self.engine, &key)?;
            if let Mode::Permits { count, of } = mode {
                validate_permits(count, of)?;
            }
            let can = self.engine.backend().capabilities();
            self.options.validate(can.least_ttl, can.most_ttl)?;
            let scope = self.scope.as_ref();
            // An accepted ticket has its own lease, so it does not use the lease that the scope holds.
            if let Some(scope) = scope.filter(|_| self.handover.is_none())
                && let Some(hold) = scope.share(&self.engine, &key)
            {
                return Ok(LockGuard::new(HoldRef::Shared(hold)));
            }
            if may_wait {
                check_self_deadlock(mode, &self.engine, &key, scope)?;
            }
            let wanted = AcquireRequest {
                key,
                mode,
                handover: self.handover,
                once: false,
            };
            let (engine, options) = (&self.engine, &self.options);
            let held = match scope {
                Some(scope) => {
                    // This future is boxed, so that the futures of other locks stay small.
                    let held = Box::pin(scope.acquire(engine, &wanted, options, busy_policy)).await;
                    held.map(HoldRef::Shared)
                }
                None => {
                    let held = engine.acquire(&wanted, options, busy_policy).await;
                    held.map(HoldRef::Whole).map_err(Error::from)
                }
            };
            match held {
                Ok(hold) => Ok(LockGuard::new(hold)),
                Err(error) if options.report_holder && may_wait => {
                    Err(Box::pin(engine.name_holder(error, options.wait)).await)
                }
                Err(error) => Err(error),
            }
        }
    }
}

impl<K: Releasable> Lock<K> {
    /// Acquires the lock, runs `body` while it is held, and releases it.
    ///
    /// `run` returns the same error type `E` as `body`. `E` is `leasehold::Error`, or implements
    /// `From<leasehold::Error>`. If you use `?` on the result of `run`, the compiler cannot infer `E` (error E0283): name it
    /// at the end of `body`, as in `Ok::<_, AppError>(())`, or return the result of `run` without `?`.
    ///
    /// If the lock is lost, `run` drops `body` at its current await point and returns an error. If `body` had completed
    /// before `run` detected the loss, `run` drops the result and also returns an error. The work of `body` may then
    /// have run alongside another holder. To keep the result, use [`LockGuard::run`] and [`LockGuard::release`], which
    /// returns the loss. `run` returns no error for an unconfirmed release; the release continues in the background.
    ///
    /// # Errors
    ///
    /// - The errors of [`acquire`](Self::acquire), if `body` did not begin.
    /// - [`Error::LostInBody`] if the lock was lost; the error states whether `body` had completed.
    /// - The error of `body`, even if the lock was lost afterwards.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` or the acquire, and the manager releases the lock in the background.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, the manager
    /// releases the lock in the background.
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
    ///     .run(async |lock| Ok::<_, leasehold::Error>(format!("shipped under token {}", lock.token())))
    ///     .await?;
    /// assert!(shipped.starts_with("shipped"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T, E: From<Error>>(
        self,
        body: impl AsyncFnOnce(LockHandle<K>) -> Result<T, E>,
    ) -> Result<T, E> {
        run_under(self.take(true).await?, body).await
    }
}

/// Returns an error if the backend does not support the mode, the handover or an option of a lock.
pub(crate) fn supported(
    mode: Mode,
    is_taken_up: bool,
    options: &AcquireOptions,
    engine: &Engine,
    key: &Key,
) -> Result<(), Error> {
    let capabilities = engine.backend().capabilities();
    let what = match mode {
        Mode::Shared if !capabilities.shared => "read locks",
        Mode::Permits { .. } if !capabilities.permits => "semaphores",
        _ if is_taken_up && !capabilities.handover => "handovers",
        _ if options.hold_at_least.is_some() && !capabilities.hold_at_least => "`hold_at_least`",
        _ => return Ok(()),
    };
    let key = key.clone();
    Err(Error::Unsupported {
        operation: Operation::Acquire,
        key,
        what,
    })
}

impl<K: Kind> Clone for Lock<K> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            key: self.key.clone(),
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
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
