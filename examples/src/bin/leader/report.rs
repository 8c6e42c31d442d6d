//! A cron job that every process runs, and one of them does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leasehold::distributed_lock;
use leasehold_examples::{BoxError, connection};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use tokio::time::sleep;

/// How often it is due.
const EVERY: Duration = Duration::from_millis(500);
/// What a candidate says when it has done it, before which one it was.
pub(crate) const REPORTED: &str = "reported";

/// Calls it when it is due, at the same time as all others.
pub(crate) async fn every_slot(url: &str, prefix: &str) -> Result<(), BoxError> {
    let redis = connection(url).await?;
    let done = format!("{prefix}reported");
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let slot = u64::try_from(now.as_millis() / EVERY.as_millis())? + 1;
        let due = Duration::from_millis(slot) * u32::try_from(EVERY.as_millis())?;
        sleep(due.saturating_sub(now)).await;
        // None: somebody else is at it.
        if report(slot, &done, redis.clone()).await? == Some(true) {
            println!("{REPORTED} {slot}");
        }
    }
}

/// False if that one has been done. A process that is late would find the lock free again.
///
/// The TTL says for how long reports are skipped after one who was at it has crashed.
#[distributed_lock("report", ttl = "2s", contended = skip)]
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
