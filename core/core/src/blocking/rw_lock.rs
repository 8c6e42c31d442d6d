//! A read-write lock whose methods block the calling thread.

use std::sync::Arc;

use super::Lock;
use super::blocking_runtime::BlockingRuntime;
use crate::lock::kind::Shared;

/// A read-write lock on one key: see the async [`RwLock`](crate::RwLock).
#[derive(Debug, Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct RwLock {
    lock: crate::RwLock,
    runtime: Arc<BlockingRuntime>,
}

impl RwLock {
    pub(super) fn new(lock: crate::RwLock, runtime: &Arc<BlockingRuntime>) -> Self {
        Self {
            lock,
            runtime: Arc::clone(runtime),
        }
    }

    /// Returns the lock to acquire for reading.
    pub fn read(&self) -> Lock<Shared> {
        Lock::new(self.lock.read(), &self.runtime)
    }

    /// Returns the lock to acquire for writing.
    pub fn write(&self) -> Lock {
        Lock::new(self.lock.write(), &self.runtime)
    }
}
