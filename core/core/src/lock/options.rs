//! The options of a lock.

use std::time::Duration;

use super::Lock;
use super::kind::Kind;
use crate::LockOptions;

impl<K: Kind> Lock<K> {
    /// Sets the options that `options` contains.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options.apply(options);
        self
    }

    /// Sets how long the lock stays taken after its holder stops renewing. With renewal on, this is the time after a
    /// crash; with renewal off, it is the longest hold time. The minimum depends on the backend (10 ms in process), and
    /// the maximum is [`MAX_TTL`](crate::MAX_TTL).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Sets how long [`acquire`](Self::acquire) waits for a busy lock. With zero, an acquire tries once and does not
    /// queue. With `Duration::MAX`, which is the default, an acquire waits forever.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// Sets the longest time the lock may be held, including renewals. After that time, the guard is lost with
    /// [`EndReason::MaxHold`](crate::EndReason::MaxHold). The lock is free when the guard is dropped, or when its last
    /// lease has expired.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Sets the minimum time for which the lock stays taken, even if you release it earlier. Use it for a short job that several
    /// processes start at the same time of day: a process with a slow clock then finds the lock taken, and does not run
    /// the job again. `hold_at_least` must be longer than the largest difference between the clocks,
    /// and shorter than the interval of the job.
    ///
    /// The time counts from when the grant arrives. If the lock is released before, the guard ends immediately, and
    /// the process may exit. The backend ends the lock when `hold_at_least` has passed, and then serves its waiters, up
    /// to about a second later. Until then the lock counts as held in [`inspect`](crate::LockManager::inspect), and
    /// [`force_release`](crate::LockManager::force_release) ends it.
    ///
    /// - All kinds of release are alike: [`release`](crate::LockGuard::release), a dropped guard, the end of
    ///   [`run`](Self::run), and the shutdown of the manager.
    /// - The TTL is at least `hold_at_least`. After a crash, the lock stays taken until its last lease has expired.
    /// - If the guard is lost before, for example at [`max_hold`](Self::max_hold), the lock also stays taken.
    /// - A [downgraded](crate::LockGuard::downgrade) lock keeps the time of the writer. After a
    ///   [handover](crate::LockGuard::hand_over) only the [time of the new holder](crate::Accept::hold_at_least) applies.
    ///   The time of a [reentrant](Lock::reentrant) lock counts from the first acquire in the scope.
    /// - In a read-write lock or a semaphore, the share of this holder stays taken.
    ///
    /// The maximum is the longest TTL of the backend; see [`capabilities`](crate::LockManager::capabilities). `ZooKeeper`
    /// does not support this option.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    ///
    /// let locks = LockManager::in_process();
    /// let nightly = locks.lock("nightly").hold_at_least(Duration::from_secs(60));
    /// let guard = nightly.clone().try_acquire().await?.expect("the lock is free");
    /// guard.release().await?;
    ///
    /// // Another instance, whose clock is 30 s slow, does not run the job again.
    /// tokio::time::sleep(Duration::from_secs(30)).await;
    /// assert!(nightly.clone().try_acquire().await?.is_none());
    ///
    /// tokio::time::sleep(Duration::from_secs(31)).await;
    /// assert!(nightly.try_acquire().await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.options.hold_at_least = Some(hold_at_least);
        self
    }

    /// Turns automatic renewal off: only [`LockGuard::renew`](crate::LockGuard::renew) renews the lease.
    pub fn without_renewal(mut self) -> Self {
        self.options.renewal = false;
        self
    }

    /// Sets the name of this lock in metrics and spans, so that you see which lock is contended. Each metric of
    /// acquires and held locks then has the label `name`. Use one name for all keys of a
    /// kind, such as `account` for `account:1` and `account:2`. Without a name the metrics do not have this label.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let guard = locks.lock("account:1").name("account").acquire().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.name = Some(name);
        self
    }

    /// Makes the error of an acquire that times out name the holder. The acquire then inspects the lock once more after
    /// its wait. The last request and this one together exceed the wait by at most the command timeout.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    /// use leasehold::backend::InProcess;
    ///
    /// let backend = InProcess::new();
    /// let other = LockManager::builder().label("api-7").build(backend.clone())?;
    /// let guard = other.lock("order:42").acquire().await?;
    ///
    /// let locks = LockManager::new(backend);
    /// let waiter = locks.lock("order:42").wait(Duration::from_secs(5)).report_holder();
    /// let error = waiter.acquire().await.unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "acquiring `order:42` timed out: it was still locked after 5s, by api-7"
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn report_holder(mut self) -> Self {
        self.options.report_holder = true;
        self
    }
}
