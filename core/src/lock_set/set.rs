//! A set of locks that is acquired as one.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::acquire::acquire_all;
use super::{LockSetGuard, LockSetHandle};
use crate::backend::Mode;
use crate::engine::{BusyPolicy, Engine};
use crate::lock::run_under::run_under;
use crate::lock::self_deadlock::check_self_deadlock;
use crate::options::LockOptions;
use crate::{AcquireError, Error, InvalidKey, InvalidOption, Key, MAX_KEYS};

/// Several locks that are acquired together, all or none. Made by
/// [`LockManager::lock_all`](crate::LockManager::lock_all).
///
/// The keys are locked in the order of their names, each once, whatever the order in which they were given. So those
/// who lock overlapping sets never wait for each other in a circle, as long as nobody locks in two steps what could
/// be locked in one. If all are free, all are acquired at once, in the time of one. If one is busy, those with
/// smaller names are kept, the others are given back, and the one is waited for in its queue, like a single lock.
///
/// # Default
///
/// As a single [`Lock`](crate::Lock): a TTL of 30 s, renewed at a third of it, and a wait without end. All options are
/// for the whole: [`wait`](Self::wait) bounds the acquire of all, and [`max_hold`](Self::max_hold) counts from the
/// last grant.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::LockManager;
///
/// let locks = LockManager::in_process();
/// let accounts = ["account:7", "account:3"];
/// let guard = locks.lock_all(accounts).wait(Duration::from_secs(5)).acquire().await?;
/// assert!(guard.token("account:3").is_some() && guard.token("account:7").is_some());
/// assert!(locks.lock("account:3").try_acquire().await?.is_none());
///
/// let moved = guard.run(async { 100 }).await?;
/// # assert_eq!(moved, 100);
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct LockSet {
    engine: Arc<Engine>,
    keys: Result<Vec<Key>, InvalidKey>,
    options: LockOptions,
}

impl LockSet {
    pub(crate) fn new(
        engine: Arc<Engine>,
        keys: Result<Vec<Key>, InvalidKey>,
        options: LockOptions,
    ) -> Self {
        let keys = keys.map(|mut keys| {
            keys.sort_unstable_by(|one, other| one.full().cmp(other.full()));
            keys.dedup();
            keys
        });
        Self {
            engine,
            keys,
            options,
        }
    }

    /// How long each lock stays taken if its holder falls silent; see [`Lock::ttl`](crate::Lock::ttl).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// How long [`acquire`](Self::acquire) waits for all of the locks. Zero asks once and never queues;
    /// `Duration::MAX` waits for ever, which is the default.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// The longest time the locks may be held, renewals included; see [`Lock::max_hold`](crate::Lock::max_hold).
    /// It counts from when the last of them was granted.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Leaves the leases to their TTL: nothing renews them, once all are acquired, but
    /// [`LockSetGuard::renew`].
    pub fn without_renewal(mut self) -> Self {
        self.options.renewal = false;
        self
    }

    /// Acquires all of the locks, waiting for those that are busy.
    ///
    /// While it waits for one it may hold others, but only ones whose names come before; it holds none when it
    /// answers with an error.
    ///
    /// # Errors
    ///
    /// As [`Lock::acquire`](crate::Lock::acquire), with the key that it is about: [`AcquireError::TimedOut`] names the
    /// first one that was busy. Besides, [`AcquireError::Key`] names the key that cannot be one, and
    /// [`AcquireError::Option`] tells of no keys at all, or of more than [`MAX_KEYS`]; nothing is locked then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the locks that it holds and its place in the queue. What it may have left on
    /// the backend is cleaned up in the background.
    ///
    /// # Panics
    ///
    /// If the tokio runtime was built without `enable_time`.
    pub fn acquire(self) -> impl Future<Output = Result<LockSetGuard, AcquireError>> + Send {
        self.take(true)
    }

    /// Acquires all of the locks if all are free, and answers `None` if one is busy.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), without a wait: the first failure of the backend is the answer. Locks that
    /// this task holds itself are busy.
    ///
    /// # Cancel safety
    ///
    /// What a dropped future may have left on the backend is cleaned up in the background.
    ///
    /// # Panics
    ///
    /// If the tokio runtime was built without `enable_time`.
    pub fn try_acquire(
        self,
    ) -> impl Future<Output = Result<Option<LockSetGuard>, AcquireError>> + Send {
        self.take(false).map(|taken| match taken {
            Ok(guard) => Ok(Some(guard)),
            Err(AcquireError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    async fn take(self, may_wait: bool) -> Result<LockSetGuard, AcquireError> {
        let keys = self.keys?;
        match keys.len() {
            0 => return Err(InvalidOption::NoKeys.into()),
            1..=MAX_KEYS => {}
            count => return Err(InvalidOption::TooManyKeys { count }.into()),
        }
        let can = self.engine.backend().capabilities();
        self.options.validate(can.least_ttl, can.most_ttl)?;
        if may_wait {
            for key in &keys {
                check_self_deadlock(Mode::Exclusive, &self.engine, key, None)?;
            }
        }
        let patience = BusyPolicy::of(&self.options, may_wait);
        let holds = acquire_all(&self.engine, keys, &self.options, patience).await?;
        Ok(LockSetGuard::new(holds))
    }

    /// Acquires all of the locks, runs `body` while they are held, and releases them.
    ///
    /// As [`Lock::run`](crate::Lock::run) does, with the loss of any of them.
    ///
    /// # Errors
    ///
    /// [`Error::Acquire`] if they were not acquired: `body` did not begin. [`Error::LostInBody`] if one of them was lost;
    /// it says whether `body` had completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`, or ends the acquire, and releases in the background.
    ///
    /// # Panics
    ///
    /// If `body` does: the locks are then released in the background. And if the tokio runtime was built without
    /// `enable_time`.
    pub async fn run<T>(self, body: impl AsyncFnOnce(LockSetHandle) -> T) -> Result<T, Error> {
        run_under(self.acquire().await?, body).await
    }
}
