//! A cron job that every process schedules, and one of them executes.

use std::time::{Duration, SystemTime};

use leasehold::{Schedule, distributed_lock};
use leasehold_examples::BoxError;
use tokio::time::sleep;

/// The interval of the cron job.
const EVERY: Duration = Duration::from_secs(1);
/// The line of a candidate that has executed the job, before the slot.
pub(crate) const REPORTED: &str = "reported";

/// Calls the job in every slot, at the same time as all other candidates.
pub(crate) async fn every_slot() -> Result<(), BoxError> {
    let every_second = Schedule::cron("* * * * * *")?;
    let mut slot = every_second.slot();
    loop {
        let due = slot.fire_time() + EVERY;
        sleep(due.duration_since(SystemTime::now()).unwrap_or_default()).await;
        // The timer may fire slightly early or late. The slot is that of the nearest second.
        slot = every_second.slot();
        let slot = slot.to_string();
        // The other candidates receive the recorded result, too.
        if report(&slot).await? == std::process::id() {
            println!("{REPORTED} {slot}");
        }
    }
}

/// Executes the job for a slot, and returns the process that executed it.
///
/// The TTL limits how long the others wait after a crash during a report. Then one of them executes it.
#[distributed_lock("report:{slot}", ttl = "2s", once = "1m")]
async fn report(slot: &str) -> Result<u32, BoxError> {
    sleep(Duration::from_millis(50)).await;
    Ok(std::process::id())
}
