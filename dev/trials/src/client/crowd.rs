use leasehold::LockManager;
use tokio::task::JoinSet;

use crate::BoxError;

/// Waits for one key in many tasks. Each that gets it gives it up at once.
pub(crate) async fn crowd(locks: &LockManager, key: &str, tasks: usize) -> Result<(), BoxError> {
    let mut waiting = JoinSet::new();
    for _ in 0..tasks {
        waiting.spawn(locks.lock(key).acquire());
    }
    while let Some(granted) = waiting.join_next().await {
        granted??.release().await?;
    }
    locks.shutdown().await?;
    Ok(())
}
