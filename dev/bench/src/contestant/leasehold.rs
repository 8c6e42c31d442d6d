use leasehold::backend::redlock::Redlock;
use leasehold::{LockGuard, LockManager};

use super::Contestant;
use crate::BoxError;

/// The library with its public API.
#[derive(Debug, Clone)]
pub(crate) struct Leasehold {
    locks: LockManager,
    /// The manager of another process, in workloads that use it.
    other: Option<LockManager>,
}

impl Leasehold {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        Ok(Self::with(LockManager::connect(url).await?))
    }

    pub(crate) fn with(locks: LockManager) -> Self {
        Self { locks, other: None }
    }

    /// Connects to new nodes, which will not be restarted.
    pub(super) async fn on_nodes(urls: &[String]) -> Result<Self, BoxError> {
        let nodes = Redlock::new(urls).durable_nodes(true).connect().await?;
        Ok(Self::with(LockManager::new(nodes)))
    }

    /// Uses a second manager as another process does.
    pub(super) fn twice([locks, other]: [LockManager; 2]) -> Self {
        let other = Some(other);
        Self { locks, other }
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

    fn elsewhere(&self) -> Self {
        Self {
            locks: self.other.clone().unwrap_or_else(|| self.locks.clone()),
            other: None,
        }
    }
}
