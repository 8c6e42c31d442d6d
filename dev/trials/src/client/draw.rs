use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leasehold::LockManager;
use leasehold_testkit::history::{Moment, Recorder};
use tokio::task::JoinSet;

use crate::BoxError;

/// Many acquisitions of one key.
#[derive(Debug)]
pub(crate) struct Draw {
    pub(crate) key: String,
    pub(crate) tasks: usize,
    pub(crate) count: u64,
    /// Where they are noted.
    pub(crate) file: PathBuf,
}

impl Draw {
    pub(crate) async fn run(self, locks: &LockManager) -> Result<(), BoxError> {
        let recorder = Recorder::to_file(&self.file)?;
        let drawn = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..self.tasks {
            let (locks, key) = (locks.clone(), self.key.clone());
            let (recorder, drawn, count) = (recorder.clone(), Arc::clone(&drawn), self.count);
            tasks.spawn(async move {
                while drawn.fetch_add(1, Ordering::Relaxed) < count {
                    let asked = Moment::now();
                    let guard = locks.lock(&key).acquire().await?;
                    let noted = recorder.granted(&key, guard.token().get(), asked);
                    noted.ended();
                    guard.release().await?;
                }
                Ok::<(), leasehold::Error>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        recorder.history()?;
        locks.shutdown().await?;
        Ok(())
    }
}
