use std::future::Future;
use std::time::Duration;

use super::in_scope::InScope;
use crate::grip::Grip;
use crate::kind::{Exclusive, Kind, Permits, Shared};
use crate::{AcquireError, Lock, LockGuard, LockManager, LockSetGuard, OwnerScope};

/// What a call is to hold.
pub trait Aim: Send + 'static {
    /// What it then holds.
    type Grip: Grip;

    /// Acquires it.
    fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> impl Future<Output = Result<Self::Grip, AcquireError>> + Send;
}

/// What a call says of time, if anything.
#[derive(Debug, Default, Clone, Copy)]
pub struct Times {
    pub(super) ttl: Option<Duration>,
    pub(super) wait: Option<Duration>,
    pub(super) max_hold: Option<Duration>,
}

impl Times {
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
pub struct Alone(pub(super) String);

impl Aim for Alone {
    type Grip = LockGuard<Exclusive>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> Result<Self::Grip, AcquireError> {
        times.of(manager.lock(self.0)).acquire().await
    }
}

/// One key, as a reader.
#[derive(Debug)]
pub struct Reading(pub(super) String);

impl Aim for Reading {
    type Grip = LockGuard<Shared>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> Result<Self::Grip, AcquireError> {
        times.of(manager.read_lock(self.0)).acquire().await
    }
}

/// One permit of so many.
#[derive(Debug)]
pub struct OneOf(pub(super) String, pub(super) u32);

impl Aim for OneOf {
    type Grip = LockGuard<Permits>;

    async fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> Result<Self::Grip, AcquireError> {
        times.of(manager.semaphore(self.0, self.1)).acquire().await
    }
}

/// One key, shared with the calls around.
#[derive(Debug)]
pub struct Again(pub(super) String);

impl Aim for Again {
    type Grip = InScope;

    async fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> Result<Self::Grip, AcquireError> {
        let scope = OwnerScope::current().unwrap_or_default();
        let lock = manager.lock(self.0).reentrant(&scope);
        let guard = times.of(lock).acquire().await?;
        Ok(InScope { guard, scope })
    }
}

/// Several keys.
#[derive(Debug)]
pub struct All(pub(super) Vec<String>);

impl Aim for All {
    type Grip = LockSetGuard;

    async fn acquire(
        self,
        manager: &LockManager,
        times: Times,
    ) -> Result<Self::Grip, AcquireError> {
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
