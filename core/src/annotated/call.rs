use std::time::Duration;

use super::answer::Verdict;
use super::{Answer, AsManager, Entry, Skippable};
use crate::{Error, LockGuard, LockManager};

/// One call of an annotated function, before its lock is acquired.
#[derive(Debug)]
#[must_use = "a call does nothing until it acquires"]
pub struct Call {
    key: String,
    manager: Option<LockManager>,
    ttl: Option<Duration>,
    wait: Option<Duration>,
    max_hold: Option<Duration>,
}

impl Call {
    /// A call that locks `key`, through the current manager.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            manager: None,
            ttl: None,
            wait: None,
            max_hold: None,
        }
    }

    /// Locks through `manager`.
    pub fn manager<M: AsManager + ?Sized>(mut self, manager: &M) -> Self {
        self.manager = Some(manager.as_manager().clone());
        self
    }

    /// See [`Lock::ttl`](crate::Lock::ttl).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// See [`Lock::wait`](crate::Lock::wait).
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// See [`Lock::max_hold`](crate::Lock::max_hold).
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// A call of a function that returns `R`, and fails if its lock stays busy.
    pub fn answering<R: Answer>(self) -> Entry<R> {
        Entry::new(Box::pin(self.guard()), Verdict::of(None))
    }

    /// A call of a function that returns `R`, and is skipped if its lock stays busy.
    pub fn answering_or_skipped<R: Answer + Skippable>(self) -> Entry<R> {
        Entry::new(Box::pin(self.guard()), Verdict::of(Some(R::skipped)))
    }

    async fn guard(self) -> Result<LockGuard, Error> {
        let manager = match self.manager {
            Some(manager) => manager,
            None => LockManager::current()?,
        };
        let mut lock = manager.lock(self.key);
        if let Some(ttl) = self.ttl {
            lock = lock.ttl(ttl);
        }
        if let Some(wait) = self.wait {
            lock = lock.wait(wait);
        }
        if let Some(max_hold) = self.max_hold {
            lock = lock.max_hold(max_hold);
        }
        Ok(lock.acquire().await?)
    }
}
