//! A job that several processes call in every second, each by its own clock.

use std::time::{Duration, SystemTime};

use leasehold::{Error, LockManager, Slot};
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{KEY, Schedule};
use tokio::time::sleep;

/// How long the job takes.
const WORK: Duration = Duration::from_millis(10);

pub(crate) async fn schedule(work: &Schedule, locks: &LockManager) -> Result<(), BoxError> {
    let every_second = leasehold::Schedule::cron("* * * * * *")?;
    let mut slot = every_second.slot();
    for _ in 0..work.calls {
        let due = slot.fire_time() + Duration::from_secs(1);
        sleep(due.duration_since(SystemTime::now()).unwrap_or_default()).await;
        slot = every_second.slot();
        match work.once {
            true => call_once(locks, slot).await?,
            false => call_if_free(locks, slot).await?,
        }
    }
    Ok(locks.shutdown().await?)
}

async fn call_once(locks: &LockManager, slot: Slot) -> Result<(), Error> {
    let job = locks
        .once(format!("{KEY}:{slot}"))
        .keep(Duration::from_secs(60));
    job.run(async |_| {
        run(slot).await;
        Ok::<_, Error>(())
    })
    .await
}

/// The control: a lock alone prevents only concurrent runs.
async fn call_if_free(locks: &LockManager, slot: Slot) -> Result<(), Error> {
    let Some(guard) = locks.lock(KEY).try_acquire().await? else {
        return Ok(());
    };
    run(slot).await;
    guard.release().await
}

async fn run(slot: Slot) {
    sleep(WORK).await;
    println!("ran {slot}");
}
