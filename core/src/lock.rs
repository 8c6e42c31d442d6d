use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use crate::engine::{Engine, Patience};
use crate::observe::Acquisition;
use crate::options::LockOptions;
use crate::{AcquireError, InvalidKey, Key, LockGuard, holding};

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
#[derive(Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct Lock {
    engine: Arc<Engine>,
    key: Result<Key, InvalidKey>,
    options: LockOptions,
}

impl Lock {
    pub(crate) fn new(
        engine: Arc<Engine>,
        key: Result<Key, InvalidKey>,
        options: LockOptions,
    ) -> Self {
        Self {
            engine,
            key,
            options,
        }
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
    /// - [`AcquireError::AlreadyHeld`]: this task holds it, in a [`scope`](crate::LockHandle::scope).
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
    pub async fn acquire(self) -> Result<LockGuard, AcquireError> {
        self.take(true).await
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
    pub async fn try_acquire(self) -> Result<Option<LockGuard>, AcquireError> {
        match self.take(false).await {
            Ok(guard) => Ok(Some(guard)),
            Err(AcquireError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn take(self, may_wait: bool) -> Result<LockGuard, AcquireError> {
        let key = self.key?;
        if may_wait && holding::holds(&self.engine.backend, &key) {
            return Err(AcquireError::AlreadyHeld { key });
        }
        // Who does not wait takes no place in the queue, which would have to be cleaned up.
        let patience = match self.options.wait {
            Some(wait) if wait.is_zero() => Patience::None,
            _ if may_wait => Patience::Wait,
            _ => Patience::None,
        };
        let least_ttl = self.engine.backend.capabilities().least_ttl;
        self.options.validate(least_ttl)?;
        let acquisition = Acquisition::start(&key, &self.options);
        let acquire = self.engine.acquire(&key, &self.options, patience);
        let result = acquire.instrument(acquisition.span()).await;
        acquisition.finish(result.as_ref().map(|hold| &hold.lease.claim));
        Ok(LockGuard::new(result?))
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("key", &self.key)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
