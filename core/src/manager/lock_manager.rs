//! The lock manager: makes locks on one backend.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Backend, Capabilities, InProcess, Inspection, Mode};
use crate::engine::{Engine, bounded};
use crate::lock::kind::{Permits, Shared};
use crate::options::{DEFAULT_PREFIX, Limits, LockOptions};
use crate::{Error, HandoverTicket, InvalidKey, Key, Lock, LockSet, ShutdownError, events};

/// Where all locks come from: it has a backend, a watchdog, and the options that locks have if they name none.
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
        Self::on(Arc::new(backend))
    }

    pub(super) fn on(backend: Arc<dyn Backend>) -> Self {
        Self::with_parts(
            backend,
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
        events::manager_made();
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
            Mode::Exclusive,
            inner.defaults,
        )
    }

    /// The locks on `keys`, as one: all are acquired, or none. At most [`MAX_KEYS`](crate::MAX_KEYS), in whatever
    /// order; a key that is given twice is locked once. See [`LockSet`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let guard = locks.lock_all(["b", "a", "b"]).acquire().await?;
    /// assert_eq!(guard.keys().collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock_all<K: AsRef<str>>(&self, keys: impl IntoIterator<Item = K>) -> LockSet {
        let inner = &self.inner;
        let keys = keys.into_iter().map(|key| self.key(key.as_ref()));
        LockSet::new(Arc::clone(&inner.engine), keys.collect(), inner.defaults)
    }

    /// The lock on `key`, shared with all others who take it so: the reader's side of a read-write lock, whose
    /// writer's side is [`lock`](Self::lock).
    ///
    /// Readers hold it together, each with a lease of its own. All are served in the order in which they came, and
    /// readers who stand together are let in together: a waiting writer lets no new reader pass.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let one = locks.read_lock("prices").acquire().await?;
    /// let other = locks.read_lock("prices").acquire().await?;
    /// assert!(locks.lock("prices").try_acquire().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_lock(&self, key: impl AsRef<str>) -> Lock<Shared> {
        let inner = &self.inner;
        Lock::new(
            Arc::clone(&inner.engine),
            self.key(key.as_ref()),
            Mode::Shared,
            inner.defaults,
        )
    }

    /// A semaphore on `key` with `permits` permits: so many at once, over all processes. Take more than one at a
    /// time with [`permits`](Lock::permits).
    ///
    /// Each holder has a lease of its own, and the permits of one that died come back with its end. Everybody is
    /// served in turn, so that who wants many is not overtaken for ever by those who want few.
    ///
    /// Nothing keeps the number but those who ask: each is let in if, with its own permits, no more are taken than
    /// the number it names. While processes with an old and a new number run beside each other, each keeps to its
    /// own, and nobody loses what it holds.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let uploads = locks.semaphore("uploads", 3);
    /// let two = uploads.clone().permits(2).acquire().await?;
    /// let one = uploads.clone().acquire().await?;
    /// assert!(uploads.try_acquire().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn semaphore(&self, key: impl AsRef<str>, permits: u32) -> Lock<Permits> {
        let inner = &self.inner;
        let mode = Mode::Permits {
            count: 1,
            of: permits,
        };
        Lock::new(
            Arc::clone(&inner.engine),
            self.key(key.as_ref()),
            mode,
            inner.defaults,
        )
    }

    /// The lock that a ticket stands for, under the key that its giver named. Acquiring it takes the lock up, with
    /// a larger token; a second time is [`HandoverSpent`](crate::AcquireError::HandoverSpent), and so is a ticket that says
    /// anything else than the giver did. The TTL is the giver's, unless another is set. The giver's manager must have had
    /// this one's prefix: else acquiring is [`KeyProblem::OtherPrefix`](crate::KeyProblem::OtherPrefix).
    ///
    /// It never waits. A dropped acquire may have taken the lock up, and then releases it.
    pub fn take_up(&self, ticket: &HandoverTicket) -> Lock {
        let inner = &self.inner;
        let engine = Arc::clone(&inner.engine);
        let key = ticket.full_key().under(&inner.prefix);
        Lock::new(engine, key, Mode::Exclusive, inner.defaults)
            .taking_up(ticket.handover().clone())
            .ttl(ticket.ttl())
    }

    /// What the backend can do: which kinds of lock it has, whether it serves in order, and between which limits a TTL
    /// can be.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let guard = locks.lock("order:42").acquire().await?;
    /// if locks.capabilities().handover {
    ///     let ticket = guard.hand_over().await?;
    /// #   let _ = ticket;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.inner.engine.backend().capabilities()
    }

    /// The longest hold of locks that name none.
    #[must_use]
    pub fn max_hold(&self) -> Option<Duration> {
        self.inner.defaults.max_hold
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
        Ok(bounded(engine.limits.command, engine.backend().inspect(&key)).await?)
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
        Ok(bounded(engine.limits.command, engine.backend().force_release(&key)).await?)
    }

    /// Ends this manager and all its clones.
    ///
    /// In this order: new acquires are answered with `Closed`, and so are waiters, who leave their
    /// queues; every guard is lost with [`LossReason::Shutdown`](crate::LossReason::Shutdown); all
    /// locks are released. Call it when the work under locks is over: it does not wait for it.
    ///
    /// It does wait for acquires that are under way, as each undoes what it may have got. So poll them beside it, or drop
    /// them before: one that is kept and not polled is waited for in vain.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] if not all was confirmed within the manager's outage limit, or its command timeout if that is
    /// longer; with an outage limit of `Duration::MAX` there is no end to that. What is left runs out by itself.
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
