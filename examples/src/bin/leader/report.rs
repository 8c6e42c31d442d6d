//! A cron job that every process schedules, and one of them executes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leasehold::distributed_lock;
use leasehold_examples::{BoxError, connection};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use tokio::time::sleep;

/// The interval of the cron job.
const EVERY: Duration = Duration::from_millis(500);
/// The line of a candidate that has executed the job, before the slot.
pub(crate) const REPORTED: &str = "reported";

/// Calls the job in every slot, at the same time as all other candidates.
pub(crate) async fn every_slot(url: &str, prefix: &str) -> Result<(), BoxError> {
    let redis = connection(url).await?;
    let done = format!("{prefix}reported");
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let slot = u64::try_from(now.as_millis() / EVERY.as_millis())? + 1;
        let due = Duration::from_millis(slot) * u32::try_from(EVERY.as_millis())?;
        sleep(due.saturating_sub(now)).await;
        // `None` if another process executes the job.
        if report(slot, &done, redis.clone()).await? == Some(true) {
            println!("{REPORTED} {slot}");
        }
    }
}

/// Executes the job for a slot. Returns `false` if it was already executed, because a late process finds the lock free.
///
/// The TTL limits how long reports are skipped after a crash during a report.
#[distributed_lock("report", ttl = "2s", contended = "skip")]
async fn report(
    slot: u64,
    done: &str,
    mut redis: MultiplexedConnection,
) -> Result<Option<bool>, BoxError> {
    let last: Option<u64> = redis.get(done).await?;
    if last.is_some_and(|last| last >= slot) {
        return Ok(Some(false));
    }
    sleep(Duration::from_millis(50)).await;
    let () = redis.set_ex(done, slot, 60).await?;
    Ok(Some(true))
}
