//! The lock manager of the blocking API.

use std::sync::Arc;

use super::blocking_runtime::BlockingRuntime;
use super::{Lock, RwLock};
use crate::backend::Backend;
use crate::lock::kind::Permits;
use crate::{Error, LockManagerBuilder};

/// Creates locks with methods that block the calling thread.
///
/// Clones are cheap and share all state. Call [`shutdown`](Self::shutdown) before the process exits. When the last
/// clone and the last guard are dropped, the manager abandons unconfirmed releases, and the leases of those locks
/// expire.
#[derive(Debug, Clone)]
pub struct LockManager {
    locks: crate::LockManager,
    runtime: Arc<BlockingRuntime>,
}

impl LockManager {
    /// Creates a manager for locks inside this process, without a server.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Blocking`] if the thread cannot be started.
    pub fn in_process() -> Result<Self, Error> {
        Self::new(crate::LockManager::in_process())
    }

    /// Connects to the backend at `url`: see [`LockManager::connect`](crate::LockManager::connect).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] if the connection fails. Returns [`Error::Blocking`] if the thread cannot be started,
    /// or inside an async runtime.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect(url)
    }

    /// Returns a builder, which sets the options of a manager.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::backend::InProcess;
    /// use leasehold::blocking::LockManager;
    ///
    /// // The prefix must be the same in all programs that lock the same keys.
    /// let backend = InProcess::new();
    /// let locks = LockManager::builder().prefix("shop:").build(backend.clone())?;
    /// let guard = locks.lock("order:42").acquire()?;
    /// let others = LockManager::builder().prefix("shop:").build(backend)?;
    /// assert!(others.lock("order:42").try_acquire()?.is_none());
    /// guard.release()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> LockManagerBuilder<Self> {
        LockManagerBuilder::new()
    }

    /// Creates a manager from an async manager. Both managers share locks and options.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Blocking`] if the thread cannot be started.
    pub fn new(locks: crate::LockManager) -> Result<Self, Error> {
        let runtime = BlockingRuntime::start()?;
        Ok(Self { locks, runtime })
    }

    /// Returns the lock on `key`: see [`LockManager::lock`](crate::LockManager::lock).
    #[track_caller]
    pub fn lock(&self, key: impl AsRef<str>) -> Lock {
        Lock::new(self.locks.lock(key), &self.runtime)
    }

    /// Returns the read-write lock on `key`: see [`LockManager::rw_lock`](crate::LockManager::rw_lock).
    #[track_caller]
    pub fn rw_lock(&self, key: impl AsRef<str>) -> RwLock {
        RwLock::new(self.locks.rw_lock(key), &self.runtime)
    }

    /// Returns a semaphore on `key`: see [`LockManager::semaphore`](crate::LockManager::semaphore).
    #[track_caller]
    pub fn semaphore(&self, key: impl AsRef<str>, permits: u32) -> Lock<Permits> {
        Lock::new(self.locks.semaphore(key, permits), &self.runtime)
    }

    /// Ends all locks of this manager, and waits until their releases are confirmed: see
    /// [`LockManager::shutdown`](crate::LockManager::shutdown).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Shutdown`] if the backend did not confirm every release in time. Returns [`Error::Blocking`]
    /// inside an async runtime.
    pub fn shutdown(&self) -> Result<(), Error> {
        self.runtime.block_on(self.locks.shutdown())?
    }
}

impl LockManagerBuilder<LockManager> {
    /// Creates the manager on a backend.
    ///
    /// # Errors
    ///
    /// Returns the errors of the async [`build`](crate::LockManagerBuilder::build), and [`Error::Blocking`] if the thread
    /// cannot be started.
    pub fn build(self, backend: impl Backend) -> Result<LockManager, Error> {
        LockManager::new(self.for_manager::<crate::LockManager>().build(backend)?)
    }

    /// Connects to the backend at a URL, and creates the manager on that backend.
    ///
    /// # Errors
    ///
    /// Returns the errors of the async [`connect`](crate::LockManagerBuilder::connect). Returns [`Error::Blocking`] if the
    /// thread cannot be started, or inside an async runtime.
    pub fn connect(self, url: &str) -> Result<LockManager, Error> {
        let runtime = BlockingRuntime::start()?;
        let builder = self.for_manager::<crate::LockManager>();
        let locks = runtime.block_on(builder.connect(url))??;
        Ok(LockManager { locks, runtime })
    }

    /// Creates a manager that connects to the backend at a URL with its first operation: see the async
    /// [`connect_lazily`](crate::LockManagerBuilder::connect_lazily).
    ///
    /// # Errors
    ///
    /// Returns the errors of the async `connect_lazily`, and [`Error::Blocking`] if the thread cannot be started.
    pub fn connect_lazily(self, url: &str) -> Result<LockManager, Error> {
        LockManager::new(
            self.for_manager::<crate::LockManager>()
                .connect_lazily(url)?,
        )
    }
}
