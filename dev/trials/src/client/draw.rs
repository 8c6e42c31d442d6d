use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use leasehold::kind::Releasable;
use leasehold::{Lock, LockGuard, LockManager};
use leasehold_testkit::history::{Moment, Recorder};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::BoxError;

/// Many acquisitions of one key.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub(crate) key: String,
    pub(crate) tasks: usize,
    pub(crate) count: u64,
    pub(crate) ttl: Duration,
    pub(crate) hold: Duration,
    /// Of a semaphore with so many, if it is one.
    pub(crate) permits: Option<u32>,
    /// Where they are noted.
    pub(crate) file: PathBuf,
}

impl Draw {
    pub(crate) async fn run(self, locks: &LockManager) -> Result<(), BoxError> {
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        println!("clock {}", clock.as_secs());
        let recorder = Recorder::to_file(&self.file)?;
        let drawn = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..self.tasks {
            let task = self
                .clone()
                .task(locks.clone(), recorder.clone(), Arc::clone(&drawn));
            tasks.spawn(task);
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        recorder.history()?;
        locks.shutdown().await?;
        Ok(())
    }

    async fn task(
        self,
        locks: LockManager,
        recorder: Recorder,
        drawn: Arc<AtomicU64>,
    ) -> Result<(), leasehold::Error> {
        while drawn.fetch_add(1, Ordering::Relaxed) < self.count {
            match self.permits {
                Some(permits) => {
                    let lock = locks.semaphore(&self.key, permits);
                    self.once(lock, &recorder, |guard| guard.slot_token().get())
                        .await?;
                }
                None => {
                    let lock = locks.lock(&self.key);
                    self.once(lock, &recorder, |guard| guard.token().get())
                        .await?;
                }
            }
        }
        Ok(())
    }

    async fn once<K: Releasable>(
        &self,
        lock: Lock<K>,
        recorder: &Recorder,
        token: fn(&LockGuard<K>) -> i64,
    ) -> Result<(), leasehold::Error> {
        let asked = Moment::now();
        let guard = lock.ttl(self.ttl).acquire().await?;
        let noted = recorder.granted(&self.key, token(&guard), asked);
        if !self.hold.is_zero() {
            sleep(self.hold).await;
        }
        let before = Moment::now();
        if guard.is_valid() {
            noted.ended_at(before);
        }
        guard.release().await?;
        Ok(())
    }
}
