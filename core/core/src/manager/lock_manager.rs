//! The lock manager, which creates locks on one backend.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Backend, Capabilities, InProcess, Mode};
use crate::engine::Engine;
use crate::lock::kind::Permits;
use crate::options::{AcquireOptions, DEFAULT_PREFIX, Limits};
use crate::{
    Accept, Election, Error, HandoverTicket, InvalidKey, Key, Lock, LockSet, RwLock, events, label,
};

/// Creates locks on one backend. A manager has a watchdog, and default options for its locks.
///
/// Clones are cheap and share all state; a shutdown applies to all clones. A process usually has one manager, created
/// at startup.
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
    defaults: AcquireOptions,
}

impl LockManager {
    /// Creates a manager for locks inside this process, without a server. Managers from different calls share nothing.
    #[must_use]
    pub fn in_process() -> Self {
        Self::new(InProcess::new())
    }

    /// Creates a manager for locks on `backend`, with the default options.
    #[must_use]
    pub fn new(backend: impl Backend) -> Self {
        Self::on(Arc::new(backend))
    }

    pub(super) fn on(backend: Arc<dyn Backend>) -> Self {
        Self::with_parts(
            backend,
            Limits::default(),
            DEFAULT_PREFIX,
            AcquireOptions::default(),
            label::of_process(),
        )
    }

    pub(super) fn with_parts(
        backend: Arc<dyn Backend>,
        limits: Limits,
        prefix: &str,
        defaults: AcquireOptions,
        label: &'static str,
    ) -> Self {
        events::manager_made();
        Self {
            inner: Arc::new(Inner {
                engine: Engine::new(backend, limits, label),
                prefix: prefix.into(),
                defaults,
            }),
        }
    }

    /// Returns the lock on `key`, with this manager's defaults. The manager sends no request until you acquire the
    /// lock. If the key is invalid, the acquire returns the error.
    #[track_caller]
    pub fn lock(&self, key: impl AsRef<str>) -> Lock {
        let inner = &self.inner;
        Lock::new(
            Arc::clone(&inner.engine),
            self.key(key.as_ref()),
            Mode::Exclusive,
            inner.defaults,
        )
    }

    /// Returns a body that runs once for `key`: later callers receive its recorded result. See [`Once`](crate::Once).
    ///
    /// The body runs under the lock on `key`. Use a key that is not locked otherwise.
    #[cfg(feature = "once")]
    #[cfg_attr(docsrs, doc(cfg(feature = "once")))]
    #[track_caller]
    pub fn once(&self, key: impl AsRef<str>) -> crate::Once {
        crate::Once::new(self.lock(key))
    }

    /// Returns an election on `key`: one of its candidates leads at a time. See [`Election`].
    ///
    /// An election is a lock on `key`. Use a key that is not locked otherwise.
    #[track_caller]
    pub fn election(&self, key: impl AsRef<str>) -> Election {
        Election::new(self.lock(key))
    }

    /// Returns a set of the locks on `keys`. An acquire of the set acquires all of the locks, or none. The set has at
    /// most [`MAX_KEYS`](crate::MAX_KEYS) keys, in any order; duplicate keys are locked once. See [`LockSet`].
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
    #[track_caller]
    pub fn lock_all<K: AsRef<str>>(&self, keys: impl IntoIterator<Item = K>) -> LockSet {
        let inner = &self.inner;
        let mut named = Vec::new();
        // This is not a closure, which would hide the caller from `key`.
        for key in keys {
            named.push(self.key(key.as_ref()));
        }
        let named = named.into_iter().collect();
        LockSet::new(Arc::clone(&inner.engine), named, inner.defaults)
    }

    /// Returns the read-write lock on `key`. Its write lock is the same lock as [`lock`](Self::lock).
    ///
    /// Readers hold the lock together, each with its own lease. Readers and writers are served first come, first
    /// served. Readers next to each other in the queue acquire the lock together, and a waiting writer blocks new
    /// readers.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let one = locks.rw_lock("prices").read().acquire().await?;
    /// let other = locks.rw_lock("prices").read().acquire().await?;
    /// assert!(locks.lock("prices").try_acquire().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn rw_lock(&self, key: impl AsRef<str>) -> RwLock {
        let inner = &self.inner;
        let reader = Lock::new(
            Arc::clone(&inner.engine),
            self.key(key.as_ref()),
            Mode::Shared,
            inner.defaults,
        );
        RwLock::new(reader, self.lock(key))
    }

    /// Returns a semaphore on `key` with `permits` permits, which limits concurrent holders across all processes. To
    /// acquire more than one permit at a time use [`acquire_many`](Lock::acquire_many).
    ///
    /// Each holder has its own lease, and a crashed holder's permits are free when its lease ends. Waiters are served
    /// in order, so a waiter for many permits does not wait forever while others acquire few permits.
    ///
    /// The limit is not stored; each acquire applies its own limit. An acquire succeeds if all held permits, including
    /// the requested permits, do not exceed that limit. While processes with an old and a new limit run concurrently,
    /// each process applies its own limit, and no holder loses its permits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let uploads = locks.semaphore("uploads", 3);
    /// let two = uploads.clone().acquire_many(2).await?;
    /// let one = uploads.clone().acquire().await?;
    /// assert!(uploads.try_acquire().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
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

    /// Accepts the lock of a ticket, under the previous holder's key. The new holder has a larger token, and the TTL of
    /// the previous holder unless you set another TTL.
    ///
    /// Both managers must have the same prefix; otherwise the future returns
    /// [`KeyProblem::OtherPrefix`](crate::KeyProblem::OtherPrefix). [`Accept`] lists the other errors.
    #[track_caller]
    pub fn accept(&self, ticket: &HandoverTicket) -> Accept {
        let inner = &self.inner;
        let engine = Arc::clone(&inner.engine);
        let key = ticket.full_key().under(&inner.prefix);
        let lock = Lock::new(engine, key, Mode::Exclusive, inner.defaults)
            .accepting(ticket.handover().clone())
            .ttl(ticket.ttl());
        Accept::new(lock)
    }

    /// Returns the features of the backend: the kinds of lock, the order of waiters, and the limits of a TTL.
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

    /// Returns the default for the longest hold time.
    #[must_use]
    pub fn max_hold(&self) -> Option<Duration> {
        self.inner.defaults.max_hold
    }

    /// Returns the label of this manager, by which [`inspect`](Self::inspect) and [`list`](Self::list) name its locks.
    #[must_use]
    pub fn label(&self) -> &str {
        self.inner.engine.label
    }

    /// Shuts down this manager and all its clones.
    ///
    /// First, new acquires and waiters return `Closed`, and waiters leave their queues. Then every guard is lost with
    /// [`EndReason::Shutdown`](crate::EndReason::Shutdown). Finally the manager releases all locks. Call `shutdown`
    /// after the work under locks has finished, because it does not wait for that work. The exception is a
    /// [campaign](Election::campaign): its lock is released when its body has been dropped.
    ///
    /// The shutdown waits for acquires and campaigns in progress, because each of them releases a lock that it may have
    /// acquired. So poll them concurrently, or drop them first. An acquire or a campaign that is neither polled nor
    /// dropped delays the shutdown until the time limit of the shutdown.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Shutdown`] if the backend did not confirm a release or a cleanup within the manager's backend
    /// retry timeout, or its command timeout if that is longer. With a retry timeout of `Duration::MAX` the shutdown
    /// waits without limit. Leases without a confirmed release expire after their TTL.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the shutdown continues even if the future is dropped.
    pub async fn shutdown(&self) -> Result<(), Error> {
        Ok(self.inner.engine.shut_down().await?)
    }

    /// Makes the locks that this manager holds on `key` lost, as if their leases had expired. Returns whether it held
    /// one. Use it to test code that does not expose its guard, such as a function with `#[distributed_lock]` or a
    /// request under a `LockLayer`.
    ///
    /// Clones of the manager are the same manager. Locks of other managers stay valid. The manager sends nothing to the
    /// backend until the guards are released or dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let ship = locks.lock("account:71").run(async |_lock| {
    ///     // This is the test. Usually it runs in another task.
    ///     assert!(locks.simulate_loss("account:71"));
    ///     std::future::pending::<Result<(), leasehold::Error>>().await
    /// });
    /// assert!(ship.await.unwrap_err().is_lost());
    /// assert!(!locks.simulate_loss("account:72"));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    pub fn simulate_loss(&self, key: impl AsRef<str>) -> bool {
        let leases = self.inner.engine.watched();
        let of_key = leases
            .iter()
            .filter(|it| it.claim.key.name() == key.as_ref());
        // The end of each lease, because readers and holders of permits share a key.
        of_key
            .filter(|it| it.end(crate::EndReason::Expired).is_ok())
            .count()
            > 0
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    pub(super) fn prefix(&self) -> &str {
        &self.inner.prefix
    }

    #[track_caller]
    pub(crate) fn key(&self, name: &str) -> Result<Key, InvalidKey> {
        #[cfg(feature = "test-util")]
        crate::lock_creation_site::note(name);
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
