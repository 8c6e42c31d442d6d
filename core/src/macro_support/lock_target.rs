//! The kind of lock that an attribute asks for, and how it is acquired.

use std::future::Future;
use std::time::Duration;

use super::reentrant_hold::ReentrantHold;
use crate::lock::kind::{Exclusive, Kind, Permits, Shared};
use crate::lock::run_under::RunGuard;
use crate::{AcquireError, Lock, LockGuard, LockManager, LockSetGuard, OwnerScope};

/// What a call is to hold.
pub trait LockTarget: Send + 'static {
    /// What it then holds.
    type Guard: RunGuard;

    /// Acquires it.
    fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> impl Future<Output = Result<Self::Guard, AcquireError>> + Send;
}

/// What a call says of time, if anything.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimeOptions {
    pub(super) ttl: Option<Duration>,
    pub(super) wait: Option<Duration>,
    pub(super) max_hold: Option<Duration>,
}

impl TimeOptions {
    fn of<K: Kind>(self, mut lock: Lock<K>) -> Lock<K> {
        if let Some(ttl) = self.ttl {
            lock = lock.ttl(ttl);
        }
        if let Some(wait) = self.wait {
            lock = lock.wait(wait);
        }
        if let Some(max_hold) = self.max_hold {
            lock = lock.max_hold(max_hold);
        }
        lock
    }
}

/// One key, for itself.
#[derive(Debug)]
pub struct ExclusiveTarget(pub(super) String);

impl LockTarget for ExclusiveTarget {
    type Guard = LockGuard<Exclusive>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, AcquireError> {
        times.of(manager.lock(self.0)).acquire().await
    }
}

/// One key, as a reader.
#[derive(Debug)]
pub struct ReadTarget(pub(super) String);

impl LockTarget for ReadTarget {
    type Guard = LockGuard<Shared>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, AcquireError> {
        times.of(manager.read_lock(self.0)).acquire().await
    }
}

/// One permit of so many.
#[derive(Debug)]
pub struct SemaphoreTarget(pub(super) String, pub(super) u32);

impl LockTarget for SemaphoreTarget {
    type Guard = LockGuard<Permits>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, AcquireError> {
        times.of(manager.semaphore(self.0, self.1)).acquire().await
    }
}

/// One key, shared with the calls around.
#[derive(Debug)]
pub struct ReentrantTarget(pub(super) String);

impl LockTarget for ReentrantTarget {
    type Guard = ReentrantHold;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, AcquireError> {
        let scope = OwnerScope::current().unwrap_or_default();
        let lock = manager.lock(self.0).reentrant(&scope);
        let guard = times.of(lock).acquire().await?;
        Ok(ReentrantHold { guard, scope })
    }
}

/// Several keys.
#[derive(Debug)]
pub struct LockSetTarget(pub(super) Vec<String>);

impl LockTarget for LockSetTarget {
    type Guard = LockSetGuard;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, AcquireError> {
        let mut set = manager.lock_all(self.0);
        if let Some(ttl) = times.ttl {
            set = set.ttl(ttl);
        }
        if let Some(wait) = times.wait {
            set = set.wait(wait);
        }
        if let Some(max_hold) = times.max_hold {
            set = set.max_hold(max_hold);
        }
        set.acquire().await
    }
}
