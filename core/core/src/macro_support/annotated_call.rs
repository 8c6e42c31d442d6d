//! One call of an annotated function, before its lock is held.

use std::time::Duration;

use super::lock_kind::{
    ExclusiveTarget, LockSetTarget, LockTarget, ReadTarget, ReentrantTarget, SemaphoreTarget,
};
use super::return_value::ReturnMapping;
use super::{AsManager, LockedReturn, PendingCall, Skippable};
#[cfg(feature = "once")]
use crate::Once;
use crate::{Error, LockManager, LockOptions};

/// One call of an annotated function, before its lock is acquired.
#[derive(Debug)]
#[must_use = "a call does nothing until it acquires"]
pub struct Call<A = ExclusiveTarget> {
    aim: A,
    manager: Option<LockManager>,
    options: LockOptions,
}

impl Call {
    /// Creates a call that locks `key` with the current manager.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            aim: ExclusiveTarget(key.into()),
            manager: None,
            options: LockOptions::new(),
        }
    }

    /// Adds `key` to the keys that the call locks.
    pub fn and(self, key: impl Into<String>) -> Call<LockSetTarget> {
        self.aiming(|ExclusiveTarget(first)| LockSetTarget(vec![first, key.into()]))
    }

    /// Shares the lock with other readers.
    pub fn reading(self) -> Call<ReadTarget> {
        self.aiming(|ExclusiveTarget(key)| ReadTarget(key))
    }

    /// Acquires one of `permits` permits.
    pub fn one_of(self, permits: u32) -> Call<SemaphoreTarget> {
        self.aiming(|ExclusiveTarget(key)| SemaphoreTarget(key, permits))
    }

    /// Shares the lock with the enclosing calls.
    pub fn reentrant(self) -> Call<ReentrantTarget> {
        self.aiming(|ExclusiveTarget(key)| ReentrantTarget(key))
    }
}

#[cfg(feature = "once")]
impl Call {
    /// Returns the key, to which a slot can be added.
    #[cfg(feature = "cron")]
    pub(super) fn key_mut(&mut self) -> &mut String {
        &mut self.aim.0
    }

    /// Returns the lock and its record.
    pub(super) fn into_once(self) -> Result<Once, Error> {
        let manager = match self.manager {
            Some(manager) => manager,
            None => LockManager::current()?,
        };
        Ok(manager.once(self.aim.0).options(&self.options))
    }
}

impl Call<LockSetTarget> {
    /// Adds `key` to the keys that the call locks.
    pub fn and(mut self, key: impl Into<String>) -> Self {
        self.aim.0.push(key.into());
        self
    }
}

impl<A> Call<A> {
    fn aiming<B>(self, other: impl FnOnce(A) -> B) -> Call<B> {
        Call {
            aim: other(self.aim),
            manager: self.manager,
            options: self.options,
        }
    }

    /// Locks with `manager`.
    pub fn manager<M: AsManager + ?Sized>(mut self, manager: &M) -> Self {
        self.manager = Some(manager.as_manager().clone());
        self
    }

    /// Sets the options that a value contains.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options = self.options.with(options);
        self
    }

    /// Sets the TTL: see [`Lock::ttl`](crate::Lock::ttl).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Sets the wait: see [`Lock::wait`](crate::Lock::wait).
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// Sets the longest hold time: see [`Lock::max_hold`](crate::Lock::max_hold).
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Sets the shortest hold time: see [`Lock::hold_at_least`](crate::Lock::hold_at_least).
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.options.hold_at_least = Some(hold_at_least);
        self
    }

    /// Sets the name in metrics and spans: see [`Lock::name`](crate::Lock::name).
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.name = Some(name.into());
        self
    }
}

impl<A: LockTarget> Call<A> {
    /// Prepares a call of a function that returns `R`. The call returns an error if its lock stays busy.
    pub fn answering<R: LockedReturn>(self) -> PendingCall<R, A::Guard> {
        PendingCall::new(Box::pin(self.acquire()), ReturnMapping::of(None))
    }

    /// Prepares a call of a function that returns `R`. The call is skipped if its lock stays busy.
    pub fn answering_or_skipped<R: LockedReturn + Skippable>(self) -> PendingCall<R, A::Guard> {
        PendingCall::new(
            Box::pin(self.acquire()),
            ReturnMapping::of(Some(R::skipped)),
        )
    }

    async fn acquire(self) -> Result<A::Guard, Error> {
        let manager = match self.manager {
            Some(manager) => manager,
            None => LockManager::current()?,
        };
        self.aim.acquire(&manager, &self.options).await
    }
}
