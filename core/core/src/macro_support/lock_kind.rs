//! The kinds of locks that an attribute can acquire.

use std::future::Future;
use std::time::Duration;

use crate::lock::kind::{Exclusive, Kind, Permits, Shared};
use crate::lock::reentrant_run::ReentrantHold;
use crate::lock::run_while_held::RunGuard;
use crate::{Error, Lock, LockGuard, LockManager, LockSetGuard, ReentrancyScope};

/// The lock that a call acquires.
pub trait LockTarget: Send + 'static {
    /// The guard of the acquired lock.
    type Guard: RunGuard;

    /// Acquires the lock.
    fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> impl Future<Output = Result<Self::Guard, Error>> + Send;
}

/// The durations and the name that a call sets. The manager's defaults apply to durations that are not set.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimeOptions {
    pub(super) ttl: Option<Duration>,
    pub(super) wait: Option<Duration>,
    pub(super) max_hold: Option<Duration>,
    pub(super) hold_at_least: Option<Duration>,
    pub(super) name: Option<&'static str>,
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
        if let Some(hold_at_least) = self.hold_at_least {
            lock = lock.hold_at_least(hold_at_least);
        }
        if let Some(name) = self.name {
            lock = lock.name(name);
        }
        lock
    }
}

/// A target of one key, which the call locks exclusively.
#[derive(Debug)]
pub struct ExclusiveTarget(pub(super) String);

impl LockTarget for ExclusiveTarget {
    type Guard = LockGuard<Exclusive>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, Error> {
        times.of(manager.lock(self.0)).acquire().await
    }
}

/// A target of one key, which the call locks for reading.
#[derive(Debug)]
pub struct ReadTarget(pub(super) String);

impl LockTarget for ReadTarget {
    type Guard = LockGuard<Shared>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, Error> {
        times.of(manager.rw_lock(self.0).read()).acquire().await
    }
}

/// A target of one permit of a semaphore.
#[derive(Debug)]
pub struct SemaphoreTarget(pub(super) String, pub(super) u32);

impl LockTarget for SemaphoreTarget {
    type Guard = LockGuard<Permits>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, Error> {
        times.of(manager.semaphore(self.0, self.1)).acquire().await
    }
}

/// A target of one key, whose lock the call shares with the enclosing calls.
#[derive(Debug)]
pub struct ReentrantTarget(pub(super) String);

impl LockTarget for ReentrantTarget {
    type Guard = ReentrantHold;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, Error> {
        let scope = ReentrancyScope::current().unwrap_or_default();
        let lock = manager.lock(self.0).reentrant(&scope);
        let guard = times.of(lock).acquire().await?;
        Ok(ReentrantHold { guard, scope })
    }
}

/// A target of several keys, which the call locks together.
#[derive(Debug)]
pub struct LockSetTarget(pub(super) Vec<String>);

impl LockTarget for LockSetTarget {
    type Guard = LockSetGuard;

    async fn acquire(
        self,
        manager: &LockManager,
        times: TimeOptions,
    ) -> Result<Self::Guard, Error> {
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
        if let Some(hold_at_least) = times.hold_at_least {
            set = set.hold_at_least(hold_at_least);
        }
        if let Some(name) = times.name {
            set = set.name(name);
        }
        set.acquire().await
    }
}
