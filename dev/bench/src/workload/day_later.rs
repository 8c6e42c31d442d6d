use std::time::Duration;

use async_trait::async_trait;
use leasehold::LockManager;
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::servers::RedisServer;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Environment, Workload};
use crate::BoxError;
use crate::meter::{Meter, Reading};
use crate::report::Outcome;

const LOCKS: usize = 10_000;
const DAY: i64 = 86_400;

/// Measures how much a server still stores of released locks after its clock was set forward by days.
#[derive(Debug)]
pub(crate) struct DayLater;

#[async_trait(?Send)]
impl Workload for DayLater {
    fn name(&self) -> String {
        "10 000 keys, and days later".into()
    }

    async fn run(&self, _stage: &Environment<'_>) -> Result<Outcome, BoxError> {
        let clock = ClockShim::off_by(0)?;
        let server = RedisServer::builder().wearing(&clock);
        let server = server.arg("--active-expire-effort").arg("10");
        let server = server.start().await?;
        let meter = Meter::of(&server).await?;
        let empty = meter.read().await?;
        let locks = LockManager::connect(&server.url()).await?;
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let locks = locks.clone();
            tasks.spawn(async move {
                for key in (task..LOCKS).step_by(64) {
                    let guard = locks.lock(format!("order:{key}")).acquire().await?;
                    guard.release().await?;
                }
                Ok::<_, leasehold::Error>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        locks.shutdown().await?;
        let now = settled(&meter).await?;
        clock.set(DAY)?;
        let day = settled(&meter).await?;
        clock.set(3 * DAY)?;
        let days = settled(&meter).await?;

        let each = |sum: f64| sum / LOCKS as f64;
        let bytes = |at: &Reading| each(at.number("used_memory") - empty.number("used_memory"));
        Ok(Outcome::single(
            "leasehold",
            &[
                ("keys_per_lock", each(keys(&now))),
                ("bytes_per_lock", bytes(&now)),
                ("keys_1_day_later", each(keys(&day))),
                ("bytes_1_day_later", bytes(&day)),
                ("keys_3_days_later", each(keys(&days))),
                ("bytes_3_days_later", bytes(&days)),
            ],
        ))
    }
}

/// Waits until the server has deleted all expired keys.
async fn settled(meter: &Meter) -> Result<Reading, BoxError> {
    let mut last = meter.read().await?;
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = meter.read().await?;
        if keys(&now) == keys(&last) {
            return Ok(now);
        }
        last = now;
    }
}

fn keys(at: &Reading) -> f64 {
    let keys = at.text("db0").split([',', '=']).nth(1);
    keys.and_then(|it| it.parse().ok()).unwrap_or(0.0)
}
