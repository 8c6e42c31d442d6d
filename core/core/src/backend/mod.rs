//! The backends that store locks, and the trait for implementing one.
//!
//! Users of locks need only [`LockManager`](crate::LockManager), and nothing in this module.

mod answer;
mod attempt;
mod attempt_values;
mod capabilities;
mod check_finding;
mod inspection;
pub mod key_state;
pub(crate) mod lazy_connect;
mod lock_list_page;
pub(crate) mod memory;
mod recorded_outcome;
pub mod support;
mod url_backend;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use async_trait::async_trait;

pub use super::error::{Applied, BackendError, ConnectError};
pub use super::mode::Mode;
use super::{AttemptId, Key};
pub use answer::{AttemptAnswer, Refusal, ReleaseAnswer, RenewAnswer};
pub use attempt::{Attempt, Claim, Handover, HandoverSecret};
pub use capabilities::Capabilities;
pub use check_finding::{Finding, Verdict};
pub use inspection::{HolderInfo, Inspection};
pub use lock_list_page::{ListCursor, ListPage};
pub use memory::InProcess;
pub use recorded_outcome::Outcome;
pub(crate) use url_backend::of_scheme;
pub use url_backend::{ConnectOptions, Connector, URL_BACKENDS, UrlBackend};

const NO_OUTCOMES: &str = "this backend does not record outcomes";

/// A store of locks: one server, several servers, or this process.
///
/// **Unstable**: this trait may change in any minor release. The trait has implementations for one server, for a
/// majority of several servers, and for leases per session (`ZooKeeper`). Run the conformance suite (feature
/// `conformance`) on every implementation.
///
/// # Contract
///
/// - Each operation is atomic, and idempotent by the attempt's owner id. If a command has no reply, the manager sends
///   the command again. A duplicate request changes only the end of the lease.
/// - [`attempt`](Self::attempt) never waits for the lock. [`wait`](Self::wait) may end at any time, and a notification
///   is a hint, never a grant.
/// - A dropped future may or may not have changed the lock. A request of that future must not take effect after a later
///   [`cleanup`](Self::cleanup) or [`release`](Self::release) of the same owner has returned.
/// - Only the backend's clock decides when a lease ends, never a caller's clock. Each claim and each queue position
///   expires if its owner stops renewing it.
/// - Tokens of one key only increase, even after a lease has expired or the backend has lost data.
/// - Several runtimes may call the backend concurrently, and a runtime may end during a call.
/// - Replies may be late. The manager limits the time of every call, and counts a lease from before it sent the
///   request.
/// - An error states whether the backend may have applied the command ([`Applied`]). `Unknown` is always allowed, but
///   `No` must be certain.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Returns the features of this backend, which do not change.
    fn capabilities(&self) -> Capabilities;

    /// Returns a new id for an attempt on this backend. The id must differ from every other attempt's id. The id must
    /// not be guessable, because anyone who knows a holder's id can release its lock.
    ///
    /// The default returns [`AttemptId::random`]. Do not override this method if other processes use the backend. A
    /// fork, or a snapshot of the machine, copies any state from which a backend derives ids.
    fn attempt_id(&self) -> AttemptId {
        AttemptId::random()
    }

    /// Acquires the lock, confirms a hand-off, or returns busy. If the lock is busy and the attempt may queue, the
    /// backend adds the caller to the wait queue, or renews the caller's position.
    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError>;

    /// Does the same as [`attempt`](Self::attempt), if that is possible without waiting. The manager begins each
    /// acquisition with `attempt_now`. `None` means that the backend did nothing, and the manager continues with
    /// `attempt`. Any other result counts as the result of `attempt`.
    ///
    /// The manager reads `now` from tokio's clock just before the call. The manager assumes that this method returns at
    /// `now`, too. If a thread would have to wait for the result, return `None`.
    ///
    /// The default returns `None`, which is always correct. A backend in memory can override this method to save a
    /// boxed future and a clock read.
    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        let (_, _) = (attempt, now);
        None
    }

    /// Waits until another [`attempt`](Self::attempt) is worthwhile. The manager never waits longer than the
    /// `retry_after` of the last reply. The manager often drops this future and calls `wait` again. So store a
    /// notification that arrives between two calls, and use it in the next call.
    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError>;

    /// Returns a number for the server that stores this key, if the backend has several servers that reply
    /// independently. The manager renews the leases of different servers separately, so that an unresponsive server
    /// does not delay the renewals on other servers.
    ///
    /// The default returns the same number for all keys.
    fn server_of(&self, key: &Key) -> u64 {
        let _on_the_only_one = key;
        0
    }

    /// Renews each claim's lease if its owner still holds it, and returns one reply per claim, in order. If the list is
    /// shorter, the manager retries the remaining claims, as after an error.
    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>>;

    /// Turns a claim in [`Mode::Exclusive`] into a claim in [`Mode::Shared`] without a gap, if its owner holds the
    /// lock. Keeps the token, renews the lease, and grants the lock to waiting readers. The manager calls this only if
    /// the backend has the capability `shared`.
    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError>;

    /// Renews the lease of a claim in [`Mode::Exclusive`], if its owner holds the lock under its token, and allows one
    /// attempt to accept the lock. That attempt must name this handover: the same previous holder, token and secret.
    /// Without this call, or with another secret, no attempt can accept the lock. The owner holds the lock until
    /// another attempt accepts the lock, and may release the lock. The secret becomes invalid with the release, and
    /// with the end of the lease. The manager calls this only if the backend has the capability `handover`.
    ///
    /// The default returns a permanent error.
    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        let (_, _) = (claim, secret);
        Err(BackendError::not_applied("this backend does not support handovers").permanent())
    }

    /// Releases the lock if the claim's owner holds it, and grants it to the next waiter.
    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError>;

    /// Does the same as [`release`](Self::release), if that is possible without waiting. See
    /// [`attempt_now`](Self::attempt_now). After `None` or an error, the manager calls `release`.
    fn release_now(
        &self,
        claim: &Claim,
        now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        let (_, _) = (claim, now);
        None
    }

    /// Records the outcome of the claim's owner for `keep`, releases the lock, and notifies all waiters, in one step.
    /// Does nothing if the owner does not hold the lock under the claim's token. While the backend keeps the outcome,
    /// [`attempt`](Self::attempt) returns it to each attempt with the flag [`once`](Attempt::once). The lock may have
    /// other holders in the meantime. Their outcomes replace this outcome. After a duplicate request, returns
    /// `Released` while the backend keeps this outcome. The manager calls this only if the backend has the capability
    /// `once`.
    ///
    /// The default returns a permanent error.
    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        let (_, _, _) = (claim, outcome, keep);
        Err(BackendError::not_applied(NO_OUTCOMES).permanent())
    }

    /// Deletes the recorded outcome of a key. Returns false if the backend kept none.
    ///
    /// The default returns a permanent error.
    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        let _kept_nowhere = key;
        Err(BackendError::not_applied(NO_OUTCOMES).permanent())
    }

    /// Renews the claim's lease to `claim.ttl`, if its owner holds the lock. The lease usually becomes shorter. The owner
    /// sends no further renewal, so the lock is free at the end of this lease. From then on, no late duplicate of the
    /// owner's attempt may acquire the lock. The manager calls this only if the backend has the capability
    /// `hold_at_least`.
    ///
    /// The default renews the claim. Override this method if duplicates of an attempt may be late.
    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let renewed = self.renew(std::slice::from_ref(claim)).await.pop();
        let unanswered = "the backend did not reply for this lease";
        renewed.unwrap_or_else(|| Err(BackendError::unknown(unanswered)))
    }

    /// Undoes an attempt with an unknown or unwanted outcome. Removes the attempt from the queue. If the attempt had
    /// become the owner, grants the lock to the next waiter.
    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError>;

    /// Does the same as [`cleanup`](Self::cleanup), if that is possible without waiting. See
    /// [`release_now`](Self::release_now). After `None` or an error, the manager calls `cleanup`.
    fn cleanup_now(&self, attempt: &Attempt, now: Instant) -> Option<Result<(), BackendError>> {
        let (_, _) = (attempt, now);
        None
    }

    /// Returns the holders of a key, the remaining times of their leases, and the number of waiters.
    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError>;

    /// Takes the lock from its holder and grants it to the next waiter. Returns false if the lock was not held. This is
    /// a tool for operators.
    async fn force_release(&self, key: &Key) -> Result<bool, BackendError>;

    /// Ends the lock of the holder with this [id](HolderInfo::id) only, and grants the lock to the next waiters. Returns
    /// false if the holder does not hold the lock.
    ///
    /// The default returns a permanent error.
    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let (_, _) = (key, id);
        Err(
            BackendError::not_applied("this backend cannot release one of several holders")
                .permanent(),
        )
    }

    /// Returns a page of the held locks whose full keys begin with `prefix`: the first page, or the page at `cursor`.
    /// Each command of a page must be short, so that the server serves other clients in between. A lock that is held
    /// during the whole listing is on at least one page. The manager calls this only if the backend has the capability
    /// `list`.
    ///
    /// The default returns a permanent error.
    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let (_, _) = (prefix, cursor);
        Err(BackendError::not_applied("this backend cannot list its locks").permanent())
    }

    /// Examines the settings of the servers, for [`LockManager::check`](crate::LockManager::check). The operations are
    /// checked by the manager.
    ///
    /// The default returns no findings.
    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        Ok(Vec::new())
    }

    /// Waits until the number of interruptions of the connection to the backend is greater than `seen`, and returns the
    /// number. Leases may have ended unnoticed during an interruption, so the manager renews all of its locks
    /// immediately. The future never completes if the backend has no connection that can break.
    async fn interrupted(&self, seen: u64) -> u64;

    /// Closes connections and ends tasks. Later calls may fail. Callers may call this more than once. A manager that is
    /// dropped without a shutdown does not call this.
    async fn close(&self);
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn attempt_id(&self) -> AttemptId {
        (**self).attempt_id()
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

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        (**self).record(claim, outcome, keep).await
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        (**self).forget(key).await
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        (**self).release_after(claim).await
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

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        (**self).force_release_holder(key, id).await
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        (**self).list(prefix, cursor).await
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        (**self).examine().await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        (**self).interrupted(seen).await
    }

    async fn close(&self) {
        (**self).close().await;
    }
}
