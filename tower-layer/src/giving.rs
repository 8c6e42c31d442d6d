use leasehold::kind::Releasable;
use leasehold::{LockGuard, LossReason, ReleaseOutcome};

/// Releases, and says why not if the lock was lost before. A release that is not confirmed fails nothing: it goes on
/// in the background.
pub(crate) async fn give_back<T: Releasable>(guard: LockGuard<T>) -> Option<LossReason> {
    // One that is lost may have gone with its backend: nobody waits for that release.
    if !guard.is_valid() {
        return Some(guard.lost().await.reason);
    }
    match guard.release().await {
        Ok(ReleaseOutcome::AlreadyLost(reason)) => Some(reason),
        Ok(ReleaseOutcome::Released) | Err(_) => None,
    }
}
