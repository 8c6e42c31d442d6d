use leasehold::kind::Releasable;
use leasehold::{EndReason, Error, LockGuard};

/// Releases the lock. Returns the reason if the lock was lost before. Ignores an unconfirmed release, because the
/// release continues in the background.
pub(crate) async fn give_back<T: Releasable>(guard: LockGuard<T>) -> Option<EndReason> {
    // The backend of a lost lock may be down, so do not wait for that release.
    if !guard.is_valid() {
        return Some(guard.ended().await.reason);
    }
    match guard.release().await {
        Err(Error::Lost(lost)) => Some(lost.reason),
        Ok(()) | Err(_) => None,
    }
}
