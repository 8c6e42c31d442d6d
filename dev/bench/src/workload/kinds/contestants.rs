use std::time::Duration;

use async_trait::async_trait;
use distkit::lock::RwLock;
use distributed_lock_core::{
    DistributedReaderWriterLock, DistributedSemaphore, LockHandle, ReaderWriterLockProvider,
    SemaphoreProvider,
};
use distributed_lock_redis::RedisLockProvider;
use leasehold::LockManager;
use tokio::time::sleep;

use super::{Contestant, PERMITS, Wish};
use crate::BoxError;
use crate::contestant::Contestant as _;
use crate::contestant::distkit::Distkit;
use crate::contestant::scripts::Scripts;

/// How long the lock is held. The task only sleeps meanwhile.
const SECTION: Duration = Duration::from_millis(1);

/// The pause between two attempts of contestants that do not wait themselves.
const PAUSE: Duration = Duration::from_millis(10);

type Granted<'a> = &'a mut (dyn FnMut() + Send);

async fn work(granted: Granted<'_>) {
    granted();
    sleep(SECTION).await;
}

#[async_trait]
impl Contestant for LockManager {
    async fn turn(&self, key: &str, wish: Wish, granted: Granted<'_>) -> Result<(), BoxError> {
        match wish {
            Wish::Read => {
                let guard = self.rw_lock(key).read().acquire().await?;
                work(granted).await;
                guard.release().await?;
            }
            Wish::Write => {
                let guard = self.lock(key).acquire().await?;
                work(granted).await;
                guard.release().await?;
            }
            Wish::Permit => {
                let guard = self.semaphore(key, PERMITS).acquire().await?;
                work(granted).await;
                guard.release().await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Contestant for Scripts {
    async fn turn(&self, key: &str, wish: Wish, granted: Granted<'_>) -> Result<(), BoxError> {
        let mode = match wish {
            Wish::Read => "s".to_owned(),
            Wish::Write => "x".to_owned(),
            Wish::Permit => format!("p1/{PERMITS}"),
        };
        let held = self.acquire_as(key, &mode).await?;
        work(granted).await;
        self.release(held).await
    }
}

#[async_trait]
impl Contestant for Distkit {
    async fn turn(&self, key: &str, wish: Wish, granted: Granted<'_>) -> Result<(), BoxError> {
        let lock = RwLock::new(self.options(key)?);
        match wish {
            Wish::Read => {
                let guard = lock.read().await?;
                work(granted).await;
                guard.release().await?;
            }
            Wish::Write => {
                let guard = lock.write().await?;
                work(granted).await;
                guard.release().await?;
            }
            Wish::Permit => return Err("it has no semaphores".into()),
        }
        Ok(())
    }
}

#[async_trait]
impl Contestant for RedisLockProvider {
    async fn turn(&self, key: &str, wish: Wish, granted: Granted<'_>) -> Result<(), BoxError> {
        match wish {
            Wish::Read => {
                let lock = self.create_reader_writer_lock(key);
                let held = loop {
                    match lock.try_acquire_read().await? {
                        Some(held) => break held,
                        None => sleep(PAUSE).await,
                    }
                };
                work(granted).await;
                held.release().await?;
            }
            Wish::Write => {
                let lock = self.create_reader_writer_lock(key);
                let held = loop {
                    match lock.try_acquire_write().await? {
                        Some(held) => break held,
                        None => sleep(PAUSE).await,
                    }
                };
                work(granted).await;
                held.release().await?;
            }
            Wish::Permit => {
                let held = self.create_semaphore(key, PERMITS).acquire(None).await?;
                work(granted).await;
                held.release().await?;
            }
        }
        Ok(())
    }
}
