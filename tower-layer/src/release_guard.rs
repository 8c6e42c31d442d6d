use leasehold_core::kind::Releasable;
use leasehold_core::{EndReason, Error, LockGuard};

/// Releases the lock. Returns the reason if the lock was lost before, and does not wait for the release of a lost lock.
/// Ignores an unconfirmed release, because the release continues in the background.
pub(crate) async fn give_back<T: Releasable>(guard: LockGuard<T>) -> Option<EndReason> {
    match guard.release().await {
        Err(Error::Lost(lost)) => Some(lost.reason),
        Ok(()) | Err(_) => None,
    }
}
