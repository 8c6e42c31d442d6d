//! Locks with methods that block the calling thread.

use std::sync::Arc;
use std::time::Duration;

use super::LockGuard;
use super::blocking_runtime::BlockingRuntime;
use crate::lock::kind::{Exclusive, Kind, Releasable};
use crate::{Error, LockHandle, LockOptions, LostInBody, held_locks_of_task};

/// A lock that can be acquired. Its options have the same defaults as in the async [`Lock`](crate::Lock).
#[derive(Debug, Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct Lock<K: Kind = Exclusive> {
    lock: crate::Lock<K>,
    runtime: Arc<BlockingRuntime>,
}

impl<K: Kind> Lock<K> {
    pub(super) fn new(lock: crate::Lock<K>, runtime: &Arc<BlockingRuntime>) -> Self {
        Self {
            lock,
            runtime: Arc::clone(runtime),
        }
    }

    /// Sets the options that `options` contains.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.lock = self.lock.options(options);
        self
    }

    /// Sets the TTL: see [`Lock::ttl`](crate::Lock::ttl).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lock = self.lock.ttl(ttl);
        self
    }

    /// Sets how long [`acquire`](Self::acquire) waits: see [`Lock::wait`](crate::Lock::wait).
    pub fn wait(mut self, wait: Duration) -> Self {
        self.lock = self.lock.wait(wait);
        self
    }

    /// Sets the longest hold time: see [`Lock::max_hold`](crate::Lock::max_hold).
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.lock = self.lock.max_hold(max_hold);
        self
    }

    /// Sets how long the lock stays taken at least: see [`Lock::hold_at_least`](crate::Lock::hold_at_least).
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.lock = self.lock.hold_at_least(hold_at_least);
        self
    }

    /// Sets the name of the lock in metrics and spans: see [`Lock::name`](crate::Lock::name).
    pub fn name(mut self, name: &'static str) -> Self {
        self.lock = self.lock.name(name);
        self
    }

    /// Acquires the lock, and blocks while it is busy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Lock::acquire`](crate::Lock::acquire), and [`Error::Blocking`] inside an async runtime.
    #[track_caller]
    pub fn acquire(self) -> Result<LockGuard<K>, Error> {
        let guard = self.runtime.block_on(self.lock.acquire())??;
        Ok(LockGuard::new(guard, self.runtime))
    }

    /// Acquires the lock if it is free, and returns `None` if it is busy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Lock::try_acquire`](crate::Lock::try_acquire), and [`Error::Blocking`] inside an async
    /// runtime.
    #[track_caller]
    pub fn try_acquire(self) -> Result<Option<LockGuard<K>>, Error> {
        let guard = self.runtime.block_on(self.lock.try_acquire())??;
        Ok(guard.map(|guard| LockGuard::new(guard, self.runtime)))
    }
}

impl<K: Releasable> Lock<K> {
    /// Acquires the lock, runs `body` on this thread, and releases the lock.
    ///
    /// Nothing can stop `body` if the lock is lost. In a long body, call [`LockHandle::check`] between the steps, and
    /// pass the token to the resource that the body writes. Inside `body`, [`current_lock`](crate::current_lock)
    /// returns this lock.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire), if `body` did not begin. Returns the error of `body`. Returns
    /// [`Error::LostInBody`] if `body` succeeded but the lock had been lost; the result of `body` is dropped. To keep
    /// the result, use [`acquire`](Self::acquire) and [`LockGuard::release`]. Does not return an error for an
    /// unconfirmed release.
    pub fn run<T, E: From<Error>>(
        self,
        body: impl FnOnce(LockHandle<K>) -> Result<T, E>,
    ) -> Result<T, E> {
        let guard = self.acquire()?;
        let lock = guard.handle();
        let output = held_locks_of_task::enter(&Arc::clone(lock.lease()), || body(lock))?;
        match guard.release() {
            Err(Error::Lost(lost)) => Err(Error::from(LostInBody::new(lost, true)).into()),
            Ok(()) | Err(_) => Ok(output),
        }
    }
}
