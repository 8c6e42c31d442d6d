//! The kinds of locks that an attribute can acquire.

use std::future::Future;

use crate::lock::kind::{Exclusive, Permits, Shared};
use crate::lock::reentrant_run::ReentrantHold;
use crate::lock::run_guard::RunGuard;
use crate::{Error, LockGuard, LockManager, LockOptions, LockSetGuard, ReentrancyScope};

/// The lock that a call acquires.
pub trait LockTarget: Send + 'static {
    /// The guard of the acquired lock.
    type Guard: RunGuard;

    /// Acquires the lock.
    fn acquire(
        self,
        manager: &LockManager,
        options: &LockOptions,
    ) -> impl Future<Output = Result<Self::Guard, Error>> + Send;
}

/// A target of one key, which the call locks exclusively.
#[derive(Debug)]
pub struct ExclusiveTarget(pub(super) String);

impl LockTarget for ExclusiveTarget {
    type Guard = LockGuard<Exclusive>;

    async fn acquire(
        self,
        manager: &LockManager,
        options: &LockOptions,
    ) -> Result<Self::Guard, Error> {
        manager.lock(self.0).options(options).acquire().await
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
        options: &LockOptions,
    ) -> Result<Self::Guard, Error> {
        manager
            .rw_lock(self.0)
            .read()
            .options(options)
            .acquire()
            .await
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
        options: &LockOptions,
    ) -> Result<Self::Guard, Error> {
        manager
            .semaphore(self.0, self.1)
            .options(options)
            .acquire()
            .await
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
        options: &LockOptions,
    ) -> Result<Self::Guard, Error> {
        let scope = ReentrancyScope::current().unwrap_or_default();
        let lock = manager.lock(self.0).reentrant(&scope);
        let guard = lock.options(options).acquire().await?;
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
        options: &LockOptions,
    ) -> Result<Self::Guard, Error> {
        let set = manager.lock_all(self.0).options(options);
        set.acquire().await
    }
}
