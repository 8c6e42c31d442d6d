//! The place where locks are stored.

use std::fmt::Debug;
use std::time::Duration;

use leasehold::backend::{Backend, Claim};
use leasehold::{AttemptId, Key};

use crate::step::Id;

/// A backend under test.
pub trait Place: Debug + Clone + Send + Sync + 'static {
    /// Whether an ended lease is only noticed by the next request for the lock. Such a backend also has positions that
    /// end, and waiters without notifications.
    const IS_LAZY: bool;

    /// The time after which unconfirmed grants end by themselves. A history that takes longer is not checked.
    const LIMIT: Duration = Duration::MAX;

    /// The same for grants after the end of a lease, from that end on.
    const LIMIT_AFTER_EXPIRY: Duration = Duration::MAX;

    /// The type of the backend.
    type Backend: Backend;

    /// Returns the backend of an attempt's process.
    fn backend(who: Id) -> &'static Self::Backend;

    /// Runs a request to its end.
    fn run<T>(request: impl Future<Output = T>) -> T;

    /// Ends the lease of this holder.
    fn end_lease(claim: &Claim);

    /// Ends the position of this waiter.
    fn end_place(_key: &Key, _owner: AttemptId) {
        unreachable!("only histories of lazy backends end positions");
    }

    /// Makes this waiter receive no notifications.
    fn deafen(_key: &Key, _owner: AttemptId) {
        unreachable!("only histories of lazy backends have waiters without notifications");
    }
}
