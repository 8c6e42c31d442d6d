//! The lock manager of the blocking API.

use std::sync::Arc;

use super::blocking_runtime::BlockingRuntime;
use super::{Lock, RwLock};
use crate::Error;
use crate::lock::kind::Permits;

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
        let runtime = BlockingRuntime::start()?;
        let locks = runtime.block_on(crate::LockManager::connect(url))??;
        Ok(Self { locks, runtime })
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
