//! Leader election: the holder of a lock leads.

mod campaign;
mod observe;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::Lock;
use campaign::Terms;
pub use observe::Leader;

/// How often [`Election::observe`] polls by default.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// An election: one of several candidates leads, and when its term ends, another candidate leads.
/// [`LockManager::election`](crate::LockManager::election) returns an `Election`.
///
/// An election is an exclusive lock on its key. The holder leads, and the other candidates wait in the queue of the
/// lock. So the [guarantees](crate::guarantees) of the lock apply: two candidates never lead at the same time, and each
/// term has a larger [token](crate::LockHandle::token) than all earlier terms. A resource that compares tokens rejects
/// late writes of an earlier leader.
///
/// Clones belong to the same candidate: [`resign`](Self::resign) of a clone ends the term of the other clone's
/// [`campaign`](Self::campaign). Each call of [`LockManager::election`](crate::LockManager::election) creates another
/// candidate.
///
/// # How a term ends
///
/// The work of a leader stops *before* its lease is given up: the campaign first drops the body, and then releases the
/// lock.
///
/// | what happens | time without a leader | the candidate |
/// |---|---|---|
/// | the body returns | one round trip | stops |
/// | [`resign`](Self::resign) | one round trip | campaigns again, at the end of the queue |
/// | the shutdown of the manager, or a dropped campaign | one round trip | stops |
/// | the lock is lost: the process was paused, or the backend could not be reached | at most the [TTL](Self::ttl) after the last renewal | campaigns again |
/// | the process crashes | at most the [TTL](Self::ttl) after the last renewal | – |
///
/// A crashed or unresponsive candidate that is first in the queue adds the time that [`guarantees`](crate::guarantees)
/// lists for waiters.
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
        lock.options.outlasts_outages = true;
        Self {
            lock,
            poll_interval: DEFAULT_POLL_INTERVAL,
            terms: Arc::default(),
        }
    }

    /// Sets how long there is no leader after a crash of the leader: see [`Lock::ttl`]. The default is the manager's TTL,
    /// or 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lock = self.lock.ttl(ttl);
        self
    }

    /// Sets how often [`observe`](Self::observe) polls the backend: every second by default, at least 1 ms.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Ends the current term of this candidate, if it leads. The [`campaign`](Self::campaign) drops its body, releases
    /// the lock, and waits again behind all other candidates. Does nothing if this candidate does not lead.
    ///
    /// The call returns when the backend has confirmed the release, so another candidate can lead. If the backend does
    /// not reply within the manager's command timeout, the call returns, and the release continues in the background.
    /// The call waits until the campaign is polled or dropped.
    ///
    /// If no other candidate waits, this candidate leads again. [`Redlock`](crate::backend::redlock) does not guarantee
    /// an order, so this candidate may also lead again there.
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
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("lock", &self.lock)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}
