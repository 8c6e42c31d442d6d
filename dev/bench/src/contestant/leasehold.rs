use leasehold::backend::redlock::Redlock;
use leasehold::{LockGuard, LockManager};

use super::Contestant;
use crate::BoxError;

/// The library with its public API.
#[derive(Debug, Clone)]
pub(crate) struct Leasehold {
    locks: LockManager,
}

impl Leasehold {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        let locks = LockManager::connect(url).await?;
        Ok(Self { locks })
    }

    /// Connects to new nodes, which will not be restarted.
    pub(super) async fn on_nodes(urls: &[String]) -> Result<Self, BoxError> {
        let nodes = Redlock::new(urls).durable_nodes(true).connect().await?;
        let locks = LockManager::new(nodes);
        Ok(Self { locks })
    }
}

impl Contestant for Leasehold {
    type Held = LockGuard;

    async fn acquire(&self, key: &str) -> Result<LockGuard, BoxError> {
        Ok(self.locks.lock(key).acquire().await?)
    }

    async fn release(&self, guard: LockGuard) -> Result<(), BoxError> {
        guard.release().await?;
        Ok(())
    }
}
