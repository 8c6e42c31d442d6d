//! A read-write lock on one key.

use super::Lock;
use super::kind::Shared;

/// A read-write lock on one key. [`LockManager::rw_lock`](crate::LockManager::rw_lock) returns an `RwLock`.
///
/// Many readers hold the lock together, or one writer holds it alone. A waiting writer acquires the lock before readers
/// that arrive later. [`write`](Self::write) is the same lock as [`LockManager::lock`](crate::LockManager::lock) on the
/// key.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// let locks = leasehold::LockManager::in_process();
/// let prices = locks.rw_lock("prices");
/// let one = prices.read().acquire().await?;
/// let other = prices.read().acquire().await?;
/// assert!(prices.write().try_acquire().await?.is_none());
/// # drop((one, other));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct RwLock {
    reader: Lock<Shared>,
    writer: Lock,
}

impl RwLock {
    pub(crate) const fn new(reader: Lock<Shared>, writer: Lock) -> Self {
        Self { reader, writer }
    }

    /// Returns the lock to acquire for reading.
    pub fn read(&self) -> Lock<Shared> {
        self.reader.clone()
    }

    /// Returns the lock to acquire for writing.
    pub fn write(&self) -> Lock {
        self.writer.clone()
    }
}
