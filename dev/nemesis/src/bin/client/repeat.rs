//! Many acquisitions, which are recorded in a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use leasehold::kind::Releasable;
use leasehold::{Lock, LockGuard, LockManager};
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{KEY, Repeat};
use leasehold_testkit::history::{Mode, Moment, Recorder};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub(crate) async fn repeat(work: Repeat, locks: &LockManager) -> Result<(), BoxError> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    println!("clock {}", clock.as_secs());
    let recorder = Recorder::to_file(&work.file)?;
    let begun = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..work.tasks {
        tasks.spawn(task(
            work.clone(),
            locks.clone(),
            recorder.clone(),
            Arc::clone(&begun),
        ));
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    recorder.history()?;
    Ok(locks.shutdown().await?)
}

async fn task(
    work: Repeat,
    locks: LockManager,
    recorder: Recorder,
    begun: Arc<AtomicU64>,
) -> Result<(), leasehold::Error> {
    while begun.fetch_add(1, Ordering::Relaxed) < work.count {
        match work.permits {
            Some(permits) => {
                let lock = locks.semaphore(KEY, permits);
                let mode = Mode::Permits {
                    count: 1,
                    of: permits,
                };
                once(&work, lock, mode, &recorder, |guard| {
                    guard.permit_id().get()
                })
                .await?;
            }
            None => {
                let lock = locks.lock(KEY);
                once(&work, lock, Mode::Exclusive, &recorder, |guard| {
                    guard.token().get()
                })
                .await?;
            }
        }
    }
    Ok(())
}

async fn once<K: Releasable>(
    work: &Repeat,
    lock: Lock<K>,
    mode: Mode,
    recorder: &Recorder,
    token: fn(&LockGuard<K>) -> i64,
) -> Result<(), leasehold::Error> {
    let asked = Moment::now();
    let guard = lock.ttl(work.ttl).acquire().await?;
    let noted = recorder.granted_in(mode, KEY, token(&guard), asked);
    if !work.hold.is_zero() {
        sleep(work.hold).await;
    }
    let before = Moment::now();
    if guard.is_valid() {
        noted.ended_at(before);
    }
    guard.release().await?;
    Ok(())
}
