use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold::kind::Kind;
use leasehold::{AcquireError, Lock, LockGuard, LockManager};
use tokio::sync::Semaphore;

use crate::{Problem, ProblemKind};

/// How many requests may wait in one layer, unless it is told otherwise.
pub const DEFAULT_MAX_WAITERS: usize = 1024;

/// Why there is no lock.
#[derive(Debug)]
pub(crate) enum NotLocked {
    Refused(AcquireError),
    TooManyWaiters,
}

impl From<AcquireError> for NotLocked {
    fn from(error: AcquireError) -> Self {
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

/// How a lock is taken, where that is not left to the manager.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Terms {
    pub(crate) ttl: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    /// Zero does not wait.
    pub(crate) wait: Duration,
}

/// Where locks come from, and who waits for them. Clones share their waiters.
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

    /// Only who finds its lock busy is a waiter: it is asked for without waiting first.
    pub(crate) async fn acquire<T: Kind>(
        &self,
        mut lock: Lock<T>,
        Terms {
            ttl,
            max_hold,
            wait,
        }: Terms,
    ) -> Result<LockGuard<T>, NotLocked> {
        if let Some(ttl) = ttl {
            lock = lock.ttl(ttl);
        }
        if let Some(max_hold) = max_hold {
            lock = lock.max_hold(max_hold);
        }
        if wait.is_zero() {
            return Ok(lock.wait(wait).acquire().await?);
        }
        let error = match lock.clone().wait(Duration::ZERO).acquire().await {
            Ok(guard) => return Ok(guard),
            Err(error) => error,
        };
        let waiting_may_help = match &error {
            AcquireError::TimedOut { .. } => true,
            AcquireError::Backend { source, .. } => source.is_temporary(),
            _ => false,
        };
        if !waiting_may_help {
            return Err(error.into());
        }
        let Ok(_waiting) = self.waiters.try_acquire() else {
            return Err(NotLocked::TooManyWaiters);
        };
        Ok(lock.wait(wait).acquire().await?)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("may_wait", &self.waiters.available_permits())
            .finish_non_exhaustive()
    }
}
