use std::time::Duration;

use leasehold::LockManager;

use crate::BoxError;

/// Hands a lock over and is gone: no release, no shutdown.
pub(crate) async fn give(locks: &LockManager, key: &str, ttl: Duration) -> Result<(), BoxError> {
    let guard = locks.lock(key).ttl(ttl).acquire().await?;
    println!("ticket {}", guard.hand_over().await?);
    Ok(())
}
