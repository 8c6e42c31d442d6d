//! Leader election: the holder of a lock leads.

mod campaign;
mod observe;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use super::Lock;
use crate::{Error, LockHandle, LockOptions};
use campaign::Terms;
pub use observe::Leader;

/// How often [`Election::observe`] polls by default.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// An election: one of several candidates leads, and when its term ends, another candidate leads.
/// [`LockManager::election`](crate::LockManager::election) returns an `Election`.
///
/// An election is an exclusive lock on its key. The holder leads, and the other candidates wait. So the
/// guarantees (`leasehold::guarantees`) of the lock apply: two candidates do not lead at the same time, and each term has a
/// larger [token](crate::LockHandle::token) than all earlier terms. A resource that compares tokens rejects late writes
/// of an earlier leader.
///
/// Clones belong to the same candidate: [`resign`](Self::resign) of a clone ends the term of the other clone's
/// [`campaign`](Self::campaign). Each call of [`LockManager::election`](crate::LockManager::election) creates another
/// candidate.
///
/// # How a term ends
///
/// The work of a leader stops *before* its lock is released: the campaign first drops the body, and then releases the
/// lock.
///
/// | what happens | time without a leader | the candidate |
/// |---|---|---|
/// | the body returns | one round trip | stops |
/// | [`resign`](Self::resign) | one round trip | campaigns again 20 ms later |
/// | the shutdown of the manager, or a dropped campaign | one round trip | stops |
/// | the lock is lost: the process was paused, or the backend could not be reached | at most the [TTL](Self::ttl) after the last renewal | campaigns again |
/// | the process crashes | at most the [TTL](Self::ttl) after the last renewal | – |
///
/// # Which candidate leads next
///
/// On Redis and `ZooKeeper`, all candidates compete when a term ends, and the first that responds leads. So a candidate
/// that has crashed, is paused or is cut off delays no other candidate. Each end of a term costs a message to each
/// candidate and a request of each candidate. On `ZooKeeper`, one candidate first gets the right to acquire the lock, so
/// "one round trip" in the table means about five.
///
/// On the other backends, candidates wait in the queue of the lock. There, a crashed or unresponsive candidate that is
/// first in the queue adds the time that `leasehold::guarantees` lists for waiters. If waiters poll, as in SQL
/// databases without notifications, "one round trip" is up to 0.4 s.
///
/// On `ZooKeeper`, the session timeout applies after a crash, instead of the TTL.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::{Error, FencingToken, LockManager};
///
/// async fn report(_token: FencingToken) -> Result<(), Error> {
///     tokio::time::sleep(Duration::from_secs(60)).await;
///     Ok(())
/// }
///
/// let locks = LockManager::in_process();
/// # let stop = tokio::time::sleep(Duration::from_secs(600));
/// let election = locks.election("reports").ttl(Duration::from_secs(10));
/// tokio::select! {
///     ended = election.campaign(async |leader| -> Result<(), Error> {
///         loop {
///             report(leader.token()).await?; // only while this process leads
///         }
///     }) => ended?,
///     () = stop => {} // the signal to stop: the body is dropped, and then the lock is released
/// }
/// locks.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "an election does nothing until `campaign` or `observe` is called"]
pub struct Election {
    lock: Lock,
    poll_interval: Duration,
    /// The current term of this candidate.
    terms: Arc<Terms>,
}

impl Election {
    pub(crate) fn new(mut lock: Lock) -> Self {
        lock.options.wait = None;
        lock.options.fair = false;
        lock.options.outlasts_outages = true;
        Self {
            lock,
            poll_interval: DEFAULT_POLL_INTERVAL,
            terms: Arc::default(),
        }
    }

    /// Sets the options that `options` contains. A candidate waits without a limit, whatever `wait` is.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.lock = self.lock.options(options);
        self.lock.options.wait = None;
        self
    }

    /// Sets how long there is no leader after a crash of the leader: see [`Lock::ttl`]. The default is the manager's TTL,
    /// or 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lock = self.lock.ttl(ttl);
        self
    }

    /// Sets the longest time of a term: see [`Lock::max_hold`]. After that time the candidate campaigns again, behind the
    /// candidates that wait. The default is the manager's `max_hold`, or no limit.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.lock = self.lock.max_hold(max_hold);
        self
    }

    /// Sets the name of the election in metrics and spans: see [`Lock::name`].
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
    /// let election = locks.election("reports").name("reports").max_hold(Duration::from_secs(3600));
    /// election.campaign(async |_leader| Ok::<_, leasehold::Error>(())).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.lock = self.lock.name(name);
        self
    }

    /// Sets how often [`observe`](Self::observe) polls the backend: every second by default, at least 1 ms.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Waits until this candidate leads, and runs `body` while it leads. After a loss of the lock and after
    /// [`resign`](Self::resign), campaigns again, and runs a clone of `body` in the next term. When `body` returns, the
    /// campaign releases the lock and returns the output of `body`.
    ///
    /// A closure is `Clone` if its captured values are: references, or values such as an `Arc` in an `async move` closure.
    ///
    /// `body` runs as in [`Lock::run`](crate::Lock::run), and receives the handle of its lock. If the term ends before
    /// `body` returns, `body` is dropped at its current await point, and then the lock is released. A body that blocks
    /// its thread cannot be dropped, and tasks that `body` spawns continue. So keep spawned tasks in a
    /// [`JoinSet`](tokio::task::JoinSet) inside `body`, or run their work with [`LockHandle::run`].
    ///
    /// The compiler cannot infer the error of a body that never returns, or that ends with `Ok(())`. So write the type, as
    /// in `async |leader| -> Result<(), Error> { loop { … } }`.
    ///
    /// An error that `body` returns ends the campaign, even if `body` returns it because the lock was lost, as with
    /// `leader.check()?`. A body that does not return this error is dropped when it next waits, and the campaign
    /// continues.
    ///
    /// While the backend fails temporarily, the campaign retries its request, even longer than the manager's backend
    /// retry timeout. The pauses increase from 10 ms to 1 s. Each failed request emits the event
    /// `leasehold.attempt_failed`. The manager's `wait` does not apply.
    ///
    /// # Errors
    ///
    /// - The error of `body`.
    /// - [`Error::Closed`]: the manager was shut down. The shutdown waits until `body` is dropped and the lock is
    ///   released.
    /// - [`Error::LostInBody`]: `body` returned a value, but its lock had been lost before the release.
    /// - [`Error::Backend`]: the backend failed permanently, for example because of a missing permission.
    /// - The errors of [`Lock::acquire`](crate::Lock::acquire) for an invalid key or option, for a key that is used as
    ///   a semaphore, and for a task that already holds the lock.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`, and then the manager releases the lock in the background. A waiting candidate
    /// stops waiting.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, the manager
    /// releases the lock in the background.
    pub fn campaign<T, E, B>(&self, body: B) -> impl Future<Output = Result<T, E>> + use<T, E, B>
    where
        B: AsyncFnOnce(LockHandle) -> Result<T, E> + Clone,
        E: From<Error>,
    {
        campaign::campaign(self.lock.clone(), Arc::clone(&self.terms), body)
    }

    /// Ends the current term of this candidate, if it leads. The [`campaign`](Self::campaign) drops its body, releases
    /// the lock, and campaigns again 20 ms later. So another candidate leads if it responds within this time. Does
    /// nothing if this candidate does not lead.
    ///
    /// The call returns when the backend has confirmed the release, so another candidate can lead. If the backend does
    /// not reply within the manager's command timeout, the call returns, and the release continues in the background.
    /// The call waits until the campaign is polled or dropped.
    ///
    /// If no other candidate responds in time, this candidate leads again.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the term ends even if the future is dropped. If the body itself awaits
    /// `resign`, the body is dropped at that point.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use leasehold::{Error, LockManager};
    /// # let locks = LockManager::in_process();
    /// let candidate = locks.election("reports");
    /// let other = locks.election("reports");
    /// let led = async |_leader| std::future::pending::<Result<(), Error>>().await;
    /// tokio::spawn(candidate.campaign(led));
    /// # tokio::task::yield_now().await;
    /// let next = tokio::spawn(other.campaign(async |leader| Ok::<_, Error>(leader.token())));
    /// # tokio::task::yield_now().await;
    /// candidate.resign().await;
    /// assert!(next.await.unwrap().is_ok()); // the other candidate leads
    /// # }
    /// ```
    pub fn resign(&self) -> impl Future<Output = ()> + Send + use<> {
        let terms = Arc::clone(&self.terms);
        async move { terms.resign().await }
    }

    /// Streams who leads: first the current leader, and then each change. An item is `None` while no candidate leads.
    ///
    /// The stream polls the backend with [`inspect`](crate::LockManager::inspect) at the
    /// [poll interval](Self::poll_interval), so it can miss a short term. An item may be outdated when you read it.
    /// Display it on dashboards, and use tokens to protect data.
    ///
    /// The stream survives failures of the backend. It returns the first error of an outage, and continues to poll.
    /// When the backend replies again, the next item is the leader, even if the leader has not changed. If the key or
    /// the poll interval is invalid, the stream returns [`Error::Key`] or [`Error::Option`] and ends. It also ends when
    /// the manager is shut down. A dropped stream leaves nothing behind.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use futures_util::StreamExt;
    /// # let locks = leasehold::LockManager::in_process();
    ///
    /// let mut leaders = locks.election("reports").observe();
    /// while let Some(leader) = leaders.next().await {
    ///     match leader? {
    ///         Some(leader) => println!("{:?} leads, token {}", leader.label, leader.token),
    ///         None => println!("no candidate leads"),
    ///     }
    /// #   locks.shutdown().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(
        &self,
    ) -> impl Stream<Item = Result<Option<Leader>, Error>> + Send + Unpin + use<> {
        observe::observe(&self.lock, self.poll_interval)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("lock", &self.lock)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}
