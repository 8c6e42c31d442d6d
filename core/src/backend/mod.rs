//! What keeps the locks: the trait for those who write a backend, and the backends themselves.
//!
//! Users of locks see only [`LockManager`](crate::LockManager); nothing here is needed to take one.

mod attempt;
#[cfg(any(feature = "tls-rustls", feature = "zookeeper-tls"))]
mod certificates;
mod connect_error;
mod error;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod interruptions;
pub(crate) mod memory;
#[cfg(all(test, any(feature = "redis", feature = "zookeeper")))]
pub(crate) mod parser_fuzz_tests;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub mod redis;
#[cfg(feature = "redlock")]
#[cfg_attr(docsrs, doc(cfg(feature = "redlock")))]
pub mod redlock;
mod response;
#[cfg(any(feature = "tls-rustls", feature = "zookeeper-tls"))]
mod rustls_provider;
#[cfg(feature = "zookeeper")]
#[cfg_attr(docsrs, doc(cfg(feature = "zookeeper")))]
pub mod zookeeper;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use async_trait::async_trait;

use super::{Key, MAX_TTL, OwnerId};
pub use attempt::{Attempt, Claim, Handover, HandoverSecret, Mode};
pub use connect_error::ConnectError;
pub use error::{Applied, BackendError};
pub use memory::InProcess;
pub use response::{AttemptAnswer, Inspection, Refusal, ReleaseAnswer, RenewAnswer};

/// A place that keeps locks: one server, several, or this process.
///
/// **Unstable**: this trait may change in any minor release, though one server, a majority of several, and leases per
/// session (`ZooKeeper`) all fit it. Run the conformance suite (feature `conformance`) on every implementation.
///
/// # Contract
///
/// - Each operation is atomic, and idempotent by the attempt's owner id: the manager re-sends a
///   command whose answer it has not seen, and a second copy changes nothing but the lease's end.
/// - [`attempt`](Self::attempt) never waits for the lock; [`wait`](Self::wait) may end at any time,
///   and a wake-up is a hint, never a grant.
/// - A future that is dropped may or may not have done its work. What it started must not take effect
///   after a later [`cleanup`](Self::cleanup) or [`release`](Self::release) of the same owner has
///   answered.
/// - Time is judged by the backend's clock, never by a caller's: each claim and each waiting entry
///   ends by itself when its owner falls silent.
/// - Tokens of one key only grow, whatever expires or is lost.
/// - Calls come from several runtimes at once, any of which may vanish in the middle of one.
/// - Answers may be late; the manager bounds every call and counts a lease from before the sending.
/// - An error says whether the command may have been applied ([`Applied`]); "unknown" is always
///   allowed, "no" must be certain.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// What this backend can do; constant for its lifetime.
    fn capabilities(&self) -> Capabilities;

    /// A new identity for an attempt on this backend: unlike that of any other attempt, and such that nobody can
    /// guess it, as whoever knows a holder's can release its lock.
    ///
    /// Provided: [`OwnerId::random`]. Where others than this process reach the backend it has to be that, as a fork,
    /// and a snapshot of a machine, go on with copies of whatever an id is made of.
    fn owner_id(&self) -> OwnerId {
        OwnerId::random()
    }

    /// Takes the lock, confirms a hand-off, or says busy. If busy and the attempt may queue, the
    /// caller's place is entered, or its waiting lease refreshed.
    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError>;

    /// What [`attempt`](Self::attempt) would do and answer, where that takes no wait. Each acquisition begins with this;
    /// after `None`, which says that nothing was done, it goes on with `attempt`. What else is answered counts as if
    /// `attempt` had answered it.
    ///
    /// `now` was read from tokio's clock just before. The manager takes it that the answer came then, too: one for
    /// which a thread has to wait belongs in `attempt`.
    ///
    /// Provided: `None`, which is always right. A backend in memory saves a future on the heap by this, and looks at
    /// the clock.
    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        let (_, _) = (attempt, now);
        None
    }

    /// Returns when another [`attempt`](Self::attempt) is worth it. The manager never waits longer
    /// than the `retry_after` of the last answer. It drops this future and calls anew all the time, so a
    /// wake-up that comes between two calls must be kept for the next.
    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError>;

    /// A number of its own for the server that has this key, where a backend has several of which each answers for itself.
    /// Leases of different servers are renewed apart, so that one that is silent does not cost the others theirs.
    ///
    /// Provided: the same for all.
    fn server_of(&self, key: &Key) -> u64 {
        let _on_the_only_one = key;
        0
    }

    /// Sets each claim's lease anew if its owner still holds it: one answer per claim, in order. A list that
    /// ends early leaves the rest without an answer; they are tried again, as after an error.
    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>>;

    /// Makes a claim in [`Mode::Exclusive`] one in [`Mode::Shared`] without a gap, if its owner holds the lock: under
    /// its token, with its lease set anew. Waiting readers share it then. Only called with the capability
    /// `shared`.
    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError>;

    /// Sets the lease of a claim in [`Mode::Exclusive`] anew, if its owner holds the lock under its token, and lets one
    /// attempt take it up that names this handover: the same giver, token and secret. Without this, and with any other
    /// secret, nobody does. The owner holds the lock until then, and may release it; the secret is of no use after that,
    /// nor when the lease has ended. Only called with the capability `handover`.
    ///
    /// Provided: refuses, for good.
    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        let (_, _) = (claim, secret);
        Err(BackendError::not_applied("this backend hands no lock over").permanent())
    }

    /// Gives the lock up if the claim's owner holds it, and hands it on.
    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError>;

    /// What [`release`](Self::release) would do and answer, where that takes no wait: as
    /// [`attempt_now`](Self::attempt_now) for an attempt. After `None`, and after an error, `release` follows.
    fn release_now(
        &self,
        claim: &Claim,
        now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        let (_, _) = (claim, now);
        None
    }

    /// Undoes an attempt whose outcome is unknown or unwanted: removes its place in the queue and, if
    /// it had become owner, hands on.
    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError>;

    /// What [`cleanup`](Self::cleanup) would do, where that takes no wait: as [`release_now`](Self::release_now) for a
    /// claim. After `None`, and after an error, `cleanup` follows.
    fn cleanup_now(&self, attempt: &Attempt, now: Instant) -> Option<Result<(), BackendError>> {
        let (_, _) = (attempt, now);
        None
    }

    /// Who holds a key, until when, and how many wait.
    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError>;

    /// Takes the lock from whoever holds it and hands it on; false if nobody did. For operators.
    async fn force_release(&self, key: &Key) -> Result<bool, BackendError>;

    /// Returns how often the way to the backend was interrupted, once that is more than `seen` times: leases
    /// may have ended unseen, and the manager renews all that it holds at once. Pending for ever where
    /// nothing can come between.
    async fn interrupted(&self, seen: u64) -> u64;

    /// Ends connections and tasks; later calls may fail. May be called more than once, and is not called
    /// if the manager is dropped without a shutdown.
    async fn close(&self);
}

/// What a backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Waiters are served in the order in which they came.
    pub fifo: bool,
    /// The shortest TTL that this backend can keep.
    pub least_ttl: Duration,
    /// The longest TTL that this backend can keep.
    pub most_ttl: Duration,
    /// It knows [`Mode::Shared`].
    pub shared: bool,
    /// It knows [`Mode::Permits`].
    pub permits: bool,
    /// An attempt can take a lock up from its holder.
    pub handover: bool,
}

impl Capabilities {
    /// Exclusive locks alone, no promised order, and TTLs from `least_ttl` on.
    #[must_use]
    pub const fn new(least_ttl: Duration) -> Self {
        Self {
            fifo: false,
            least_ttl,
            most_ttl: MAX_TTL,
            shared: false,
            permits: false,
            handover: false,
        }
    }

    /// Says how long TTLs can be; [`MAX_TTL`] if nothing is said.
    #[must_use]
    pub const fn with_most_ttl(mut self, most_ttl: Duration) -> Self {
        self.most_ttl = most_ttl;
        self
    }

    /// Says whether readers can share a lock.
    #[must_use]
    pub const fn with_shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Says whether there are semaphores.
    #[must_use]
    pub const fn with_permits(mut self, permits: bool) -> Self {
        self.permits = permits;
        self
    }

    /// Says whether a lock can be handed over.
    #[must_use]
    pub const fn with_handover(mut self, handover: bool) -> Self {
        self.handover = handover;
        self
    }

    /// Says whether waiters are served in the order in which they came.
    #[must_use]
    pub const fn with_fifo(mut self, fifo: bool) -> Self {
        self.fifo = fifo;
        self
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn owner_id(&self) -> OwnerId {
        (**self).owner_id()
    }

    fn server_of(&self, key: &Key) -> u64 {
        (**self).server_of(key)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        (**self).attempt(attempt).await
    }

    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        (**self).attempt_now(attempt, now)
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        (**self).wait(attempt).await
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        (**self).renew(claims).await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        (**self).downgrade(claim).await
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        (**self).hand_over(claim, secret).await
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        (**self).release(claim).await
    }

    fn release_now(
        &self,
        claim: &Claim,
        now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        (**self).release_now(claim, now)
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        (**self).cleanup(attempt).await
    }

    fn cleanup_now(&self, attempt: &Attempt, now: Instant) -> Option<Result<(), BackendError>> {
        (**self).cleanup_now(attempt, now)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        (**self).inspect(key).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        (**self).force_release(key).await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        (**self).interrupted(seen).await
    }

    async fn close(&self) {
        (**self).close().await;
    }
}
