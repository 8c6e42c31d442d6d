use std::fmt;

use async_redis_lock::{Error, Lock, Locker};

use super::Contestant;
use crate::BoxError;

/// `async-redis-lock` with its default options.
#[derive(Clone)]
pub(crate) struct AsyncRedisLock {
    locks: Locker,
}

impl AsyncRedisLock {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        let locks = Locker::from_redis_url(url).await?;
        Ok(Self { locks })
    }
}

impl Contestant for AsyncRedisLock {
    type Held = Lock;

    async fn acquire(&self, key: &str) -> Result<Lock, BoxError> {
        loop {
            match self.locks.acquire(key).await {
                // The crate gives up after a while, so try again.
                Err(Error::Timeout) => {}
                answer => return Ok(answer?),
            }
        }
    }

    async fn release(&self, lock: Lock) -> Result<(), BoxError> {
        Ok(lock.release().await?)
    }
}

impl fmt::Debug for AsyncRedisLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncRedisLock").finish_non_exhaustive()
    }
}
