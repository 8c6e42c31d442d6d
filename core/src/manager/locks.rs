use std::fmt;
use std::sync::Arc;

use crate::backend::{Backend, InProcess, Inspection};
use crate::engine::{Engine, bounded};
use crate::options::{DEFAULT_PREFIX, Limits, LockOptions};
use crate::{Error, InvalidKey, Key, Lock, ShutdownError};

/// The way to locks: one backend, one watchdog, one set of defaults.
///
/// Cheap to clone; clones share everything, and a shutdown is for all of them. A process usually has
/// one, made at its start.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
///
/// let locks = LockManager::in_process();
/// let guard = locks.lock("order:42").acquire().await?;
/// // Only one holder at a time gets here.
/// guard.release().await?;
/// locks.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LockManager {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<Engine>,
    prefix: Box<str>,
    defaults: LockOptions,
}

impl LockManager {
    /// Locks inside this process: nothing to install, and a world of its own with each call.
    #[must_use]
    pub fn in_process() -> Self {
        Self::new(InProcess::new())
    }

    /// Locks on `backend`, with the default options.
    #[must_use]
    pub fn new(backend: impl Backend) -> Self {
        Self::with_parts(
            Arc::new(backend),
            Limits::default(),
            DEFAULT_PREFIX,
            LockOptions::default(),
        )
    }

    pub(super) fn with_parts(
        backend: Arc<dyn Backend>,
        limits: Limits,
        prefix: &str,
        defaults: LockOptions,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                engine: Engine::new(backend, limits),
                prefix: prefix.into(),
                defaults,
            }),
        }
    }

    /// The lock on `key`, with this manager's defaults. Nothing happens until it is acquired; a key
    /// that cannot be one is answered then.
    pub fn lock(&self, key: impl AsRef<str>) -> Lock {
        let inner = &self.inner;
        Lock::new(
            Arc::clone(&inner.engine),
            self.key(key.as_ref()),
            inner.defaults,
        )
    }

    /// Who holds `key`, for how long, and how many wait. For people and dashboards: by the time it is
    /// read it may be otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] for a key that cannot be one, [`Error::Backend`] if the backend does not answer. After
    /// a shutdown a backend may refuse.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let guard = locks.lock("order:42").acquire().await?;
    /// let seen = locks.inspect("order:42").await?;
    /// assert_eq!(seen.token, Some(guard.token()));
    /// assert_eq!(seen.waiting, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn inspect(&self, key: impl AsRef<str>) -> Result<Inspection, Error> {
        let key = self.key(key.as_ref())?;
        let engine = &self.inner.engine;
        Ok(bounded(engine.limits.command, engine.backend.inspect(&key)).await?)
    }

    /// Takes the lock from whoever holds it, and hands it on; false if nobody did.
    ///
    /// For operators. The holder is told by its next renewal, or by its deadline if it has none: until then
    /// two may believe that they hold the lock, and only fencing tokens keep the first from writing.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] for a key that cannot be one, [`Error::Backend`] if the backend does not answer. After
    /// a shutdown a backend may refuse.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock may or may not have been forced open.
    pub async fn force_release(&self, key: impl AsRef<str>) -> Result<bool, Error> {
        let key = self.key(key.as_ref())?;
        let engine = &self.inner.engine;
        Ok(bounded(engine.limits.command, engine.backend.force_release(&key)).await?)
    }

    /// Ends this manager and all its clones.
    ///
    /// In this order: new acquires are answered with `Closed`, and so are waiters, who leave their
    /// queues; every guard is lost with [`LossReason::Shutdown`](crate::LossReason::Shutdown); all
    /// locks are released. Call it when the work under locks is over: it does not wait for it.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] if not all was confirmed within the manager's outage limit. What is left runs
    /// out by itself.
    ///
    /// # Cancel safety
    ///
    /// Once polled, everything is ended and released even if the future is dropped.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        self.inner.engine.shut_down().await
    }

    fn key(&self, name: &str) -> Result<Key, InvalidKey> {
        Key::new(&self.inner.prefix, name)
    }
}

impl fmt::Debug for LockManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockManager")
            .field("engine", &self.inner.engine)
            .field("prefix", &self.inner.prefix)
            .field("defaults", &self.inner.defaults)
            .finish()
    }
}
