use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::kind::Kind;
use leasehold_core::{Error, Lock, LockGuard, LockManager, LockOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Problem, ProblemKind};

/// The default limit for concurrently waiting requests in one layer.
pub const DEFAULT_MAX_WAITERS: usize = 1024;

/// The reason why a lock was not acquired.
#[derive(Debug)]
pub(crate) enum NotLocked {
    Refused(Error),
    TooManyWaiters,
}

impl From<Error> for NotLocked {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<NotLocked> for Problem {
    fn from(not: NotLocked) -> Self {
        match not {
            NotLocked::Refused(error) => error.into(),
            NotLocked::TooManyWaiters => Self::new(ProblemKind::TooManyWaiters),
        }
    }
}

/// Acquires locks, and limits the number of waiters. Clones share the limit.
#[derive(Clone)]
pub(crate) struct Source {
    locks: LockManager,
    waiters: Arc<Semaphore>,
}

impl Source {
    pub(crate) fn new(locks: LockManager) -> Self {
        Self {
            locks,
            waiters: Arc::new(Semaphore::new(DEFAULT_MAX_WAITERS)),
        }
    }

    pub(crate) fn max_waiters(&mut self, most: usize) {
        self.waiters = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    }

    pub(crate) const fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// Acquires a lock. First tries to acquire without waiting, so that a request counts as a waiter only if that
    /// attempt fails.
    pub(crate) async fn acquire<T: Kind>(
        &self,
        lock: Lock<T>,
        options: &LockOptions,
    ) -> Result<LockGuard<T>, NotLocked> {
        let lock = lock.options(options);
        let wait = options.wait.unwrap_or_default();
        if wait.is_zero() {
            return Ok(lock.wait(wait).acquire().await?);
        }
        let error = match lock.clone().wait(Duration::ZERO).acquire().await {
            Ok(guard) => return Ok(guard),
            Err(error) => error,
        };
        let waiting_may_help = match &error {
            Error::TimedOut { .. } => true,
            Error::Backend { source, .. } => source.is_temporary(),
            _ => false,
        };
        if !waiting_may_help {
            return Err(error.into());
        }
        let _waiting = self.waiter()?;
        Ok(lock.wait(wait).acquire().await?)
    }

    /// Counts a request as a waiter until the permit is dropped.
    pub(crate) fn waiter(&self) -> Result<SemaphorePermit<'_>, NotLocked> {
        let permit = self.waiters.try_acquire();
        permit.map_err(|_| NotLocked::TooManyWaiters)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("may_wait", &self.waiters.available_permits())
            .finish_non_exhaustive()
    }
}
