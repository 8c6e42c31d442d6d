use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use distributed_lock_core::{DistributedLock, LockHandle, LockProvider};
use distributed_lock_redis::{RedisLockHandle, RedisLockProvider};
use tokio::time::sleep;

use super::Contestant;
use crate::BoxError;

/// The pause between two attempts, because this crate does not wait itself.
const PAUSE: Duration = Duration::from_millis(10);

/// `distributed-lock-redis` with its default options.
#[derive(Clone)]
pub(crate) struct DistributedLockRedis {
    locks: Arc<RedisLockProvider>,
}

impl DistributedLockRedis {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        let locks = Arc::new(RedisLockProvider::new(url).await?);
        Ok(Self { locks })
    }
}

impl Contestant for DistributedLockRedis {
    type Held = RedisLockHandle;

    async fn acquire(&self, key: &str) -> Result<RedisLockHandle, BoxError> {
        let lock = self.locks.create_lock(key);
        loop {
            match lock.try_acquire().await? {
                Some(handle) => return Ok(handle),
                None => sleep(PAUSE).await,
            }
        }
    }

    async fn release(&self, handle: RedisLockHandle) -> Result<(), BoxError> {
        Ok(handle.release().await?)
    }
}

impl fmt::Debug for DistributedLockRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedLockRedis")
            .finish_non_exhaustive()
    }
}
