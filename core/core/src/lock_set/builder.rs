//! A set of locks that is acquired as one.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::acquire::acquire_all;
use super::{LockSetGuard, LockSetHandle};
use crate::backend::Mode;
use crate::engine::{BusyPolicy, Engine};
use crate::lock::run_guard::run_under;
use crate::lock::self_deadlock::check_self_deadlock;
use crate::lock::supported;
use crate::options::AcquireOptions;
use crate::{Error, InvalidKey, InvalidOption, Key, LockOptions, MAX_KEYS};

/// Several locks that are acquired together, all or none. [`LockManager::lock_all`](crate::LockManager::lock_all)
/// returns a `LockSet`.
///
/// An acquire locks the keys in the order of their names, whatever their order in the list, and locks duplicate keys
/// once. So acquires of overlapping sets do not deadlock, as long as no caller acquires its locks in two steps. If all
/// locks are free, the acquire requests them concurrently, and is as fast as for a single lock. If one lock is busy,
/// the acquire keeps the locks with smaller names, releases the others, and queues for the busy lock.
///
/// # Default
///
/// The defaults are the same as for a single [`Lock`](crate::Lock): a TTL of 30 s, automatic renewal at a third of the
/// TTL, and an unlimited wait. All options apply to the whole set: [`wait`](Self::wait) limits the acquire of all
/// locks, and [`max_hold`](Self::max_hold) counts from the last grant.
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
/// let moved = guard.run(async |_| Ok::<_, leasehold::Error>(100)).await?;
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
    options: AcquireOptions,
}

impl LockSet {
    #[track_caller]
    pub(crate) fn new(
        engine: Arc<Engine>,
        keys: Result<Vec<Key>, InvalidKey>,
        options: AcquireOptions,
    ) -> Self {
        let keys = keys.map(|mut keys| {
            keys.sort_unstable_by(|one, other| one.full().cmp(other.full()));
            keys.dedup();
            keys
        });
        Self {
            engine,
            keys,
            options: AcquireOptions {
                place: Some(Location::caller()),
                ..options
            },
        }
    }

    /// Sets the options that `options` contains.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options.apply(options);
        self
    }

    /// Sets how long each lock stays taken after its holder stops renewing; see [`Lock::ttl`](crate::Lock::ttl).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Sets how long [`acquire`](Self::acquire) waits for all of the locks. With zero, an acquire tries once and does
    /// not queue. With `Duration::MAX`, which is the default, an acquire waits forever.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// Sets the longest time the locks may be held, including renewals; see [`Lock::max_hold`](crate::Lock::max_hold).
    /// The time counts from the grant of the last lock.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Sets how long the locks stay taken at least, even if they are released before; see
    /// [`Lock::hold_at_least`](crate::Lock::hold_at_least). The time counts from when the whole set is acquired. Before
    /// that, the acquire releases locks immediately.
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.options.hold_at_least = Some(hold_at_least);
        self
    }

    /// Sets the name of the locks in metrics and spans; see [`Lock::name`](crate::Lock::name).
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.name = Some(name);
        self
    }

    /// Turns automatic renewal off after all locks are acquired: only [`LockSetGuard::renew`] renews the leases.
    pub fn without_renewal(mut self) -> Self {
        self.options.renewal = false;
        self
    }

    /// Acquires all of the locks, and waits for busy locks.
    ///
    /// While the acquire waits for one lock, it may hold locks with smaller names. If the acquire returns an error, it
    /// does not hold any lock.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Lock::acquire`](crate::Lock::acquire). [`Error::TimedOut`] contains the key of the first
    /// busy lock, and [`Error::Key`] contains the invalid key. Returns [`Error::Option`] also if the set has no keys,
    /// or more than [`MAX_KEYS`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future releases the locks that it holds, and makes it lose its position in the queue. The manager
    /// undoes its requests in the background.
    ///
    /// # Panics
    ///
    /// Panics if the tokio runtime was built without `enable_time`.
    pub fn acquire(self) -> impl Future<Output = Result<LockSetGuard, Error>> + Send {
        self.take(true)
    }

    /// Acquires all of the locks if all are free, and returns `None` if one is busy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire) except `TimedOut`. `try_acquire` does not retry failures of the
    /// backend. Locks that this task itself holds count as busy.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the manager undoes its requests in the background.
    ///
    /// # Panics
    ///
    /// Panics if the tokio runtime was built without `enable_time`.
    pub fn try_acquire(self) -> impl Future<Output = Result<Option<LockSetGuard>, Error>> + Send {
        self.take(false).map(|taken| match taken {
            Ok(guard) => Ok(Some(guard)),
            Err(Error::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    async fn take(self, may_wait: bool) -> Result<LockSetGuard, Error> {
        let keys = self.keys?;
        match keys.len() {
            0 => return Err(InvalidOption::NoKeys.into()),
            1..=MAX_KEYS => {}
            count => return Err(InvalidOption::TooManyKeys { count }.into()),
        }
        let can = self.engine.backend().capabilities();
        self.options.validate(can.least_ttl, can.most_ttl)?;
        for key in &keys {
            supported(Mode::Exclusive, false, &self.options, &self.engine, key)?;
            if may_wait {
                check_self_deadlock(Mode::Exclusive, &self.engine, key, None)?;
            }
        }
        let busy_policy = BusyPolicy::of(&self.options, may_wait);
        let holds = acquire_all(&self.engine, keys, &self.options, busy_policy).await?;
        Ok(LockSetGuard::new(holds))
    }

    /// Acquires all of the locks, runs `body` while they are held, and releases them.
    ///
    /// Works like [`Lock::run`](crate::Lock::run), and treats the loss of any of the locks as a loss.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire), if `body` did not begin. Returns [`Error::LostInBody`] if one
    /// of the locks was lost; the error states whether `body` had completed. Returns the error of `body`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` or the acquire, and the manager releases the locks in the background.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, the manager
    /// releases the locks in the background.
    pub async fn run<T, E: From<Error>>(
        self,
        body: impl AsyncFnOnce(LockSetHandle) -> Result<T, E>,
    ) -> Result<T, E> {
        run_under(self.acquire().await?, body).await
    }
}
