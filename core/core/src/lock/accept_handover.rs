//! Accepts a lock that its previous holder handed over.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use super::Lock;
use super::kind::{Exclusive, Kind, Reentrant};
use crate::{Error, LockGuard, LockOptions, ReentrancyScope};

/// Accepts a handed-over lock when awaited. [`LockManager::accept`](crate::LockManager::accept) returns this value.
///
/// The future never waits for the lock, because no other client can acquire it before the ticket is accepted or
/// expires.
///
/// # Errors
///
/// Returns [`Error::HandoverSpent`] if the ticket was used before, if the lease has expired, or if the previous holder
/// made a newer ticket. Returns [`Error::Unsupported`] if the backend does not support handovers. Otherwise returns the
/// errors of [`Lock::acquire`](crate::Lock::acquire).
///
/// # Cancel safety
///
/// If the future is dropped, the manager undoes its request in the background. The backend may already have accepted
/// the ticket. If it has not, the ticket stays valid until its lease ends.
#[derive(Debug)]
#[must_use = "nothing is accepted until it is awaited"]
pub struct Accept<K: Kind = Exclusive>(Lock<K>);

impl Accept {
    pub(crate) const fn new(lock: Lock) -> Self {
        Self(lock)
    }

    /// Accepts the lock as a [reentrant](Lock::reentrant) lock.
    pub fn reentrant(self, scope: &ReentrancyScope) -> Accept<Reentrant> {
        Accept(self.0.reentrant(scope))
    }
}

impl<K: Kind> Accept<K> {
    /// Sets the options that `options` contains.
    pub fn options(self, options: &LockOptions) -> Self {
        Self(self.0.options(options))
    }

    /// Sets the new holder's TTL; the default is the previous holder's TTL.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// Sets the new holder's longest hold time; see [`Lock::max_hold`].
    pub fn max_hold(self, max_hold: Duration) -> Self {
        Self(self.0.max_hold(max_hold))
    }

    /// Sets how long the lock stays taken at least, counted from this acquisition; see [`Lock::hold_at_least`]. The
    /// previous holder's setting does not apply to the new holder.
    pub fn hold_at_least(self, hold_at_least: Duration) -> Self {
        Self(self.0.hold_at_least(hold_at_least))
    }

    /// Sets the name of the lock in metrics and spans; see [`Lock::name`].
    pub fn name(self, name: &'static str) -> Self {
        Self(self.0.name(name))
    }

    /// Turns automatic renewal off; see [`Lock::without_renewal`].
    pub fn without_renewal(self) -> Self {
        Self(self.0.without_renewal())
    }
}

impl<K: Kind> IntoFuture for Accept<K> {
    type Output = Result<LockGuard<K>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.0.take(true))
    }
}
