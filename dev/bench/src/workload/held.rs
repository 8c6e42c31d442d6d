use std::time::{Duration, Instant};

use async_trait::async_trait;
use leasehold::LockManager;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Stage, Workload};
use crate::BoxError;
use crate::canary::Canary;
use crate::machine;
use crate::report::{Outcome, Row};
use crate::rounds::STALL;

const LOCKS: usize = 10_000;
const TTL: Duration = Duration::from_secs(3);

/// Locks that are only held, and renewed by the one watchdog of their manager.
#[derive(Debug)]
pub(crate) struct Held;

#[async_trait(?Send)]
impl Workload for Held {
    fn name(&self) -> &'static str {
        "10 000 held locks, TTL 3 s"
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let locks = LockManager::connect(&stage.server.url()).await?;
        // The tasks of connections that were dropped just now are still alive.
        sleep(Duration::from_millis(100)).await;
        let tasks_before = Handle::current().metrics().num_alive_tasks();
        let mut takers = JoinSet::new();
        for taker in 0..64 {
            let locks = locks.clone();
            takers.spawn(async move {
                let mut guards = Vec::new();
                for lock in (taker..LOCKS).step_by(64) {
                    let lock = locks.lock(format!("held:{lock}")).ttl(TTL);
                    guards.push(lock.acquire().await?);
                }
                Ok::<_, leasehold::AcquireError>(guards)
            });
        }
        let mut guards = Vec::with_capacity(LOCKS);
        while let Some(taken) = takers.join_next().await {
            guards.extend(taken??);
        }
        let canary = Canary::start();
        let watched = if stage.quick { TTL } else { TTL * 4 };
        let (begin, cpu, commands) = (Instant::now(), cpu(), renewals(stage).await?);
        let server_cpu = server_cpu(stage).await?;
        sleep(watched).await;
        let tasks = Handle::current().metrics().num_alive_tasks() - tasks_before;
        let seconds = begin.elapsed().as_secs_f64();
        let cpu = (self::cpu() - cpu).as_secs_f64();
        let server_cpu = self::server_cpu(stage).await? - server_cpu;
        let commands = renewals(stage).await? - commands;
        let stall = canary.longest_stall();
        let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
        locks.shutdown().await?;
        drop(guards);

        let row = |metric, value| Row {
            contestant: "leasehold",
            metric,
            value: Some(value),
            ratio_to_raw: None,
        };
        Ok(Outcome {
            rows: vec![
                row("tasks", tasks as f64),
                row("renewals_per_s", commands / seconds),
                row("cpu_percent", cpu / seconds * 100.0),
                row("server_cpu_percent", server_cpu / seconds * 100.0),
                row("longest_stall_ms", stall.as_secs_f64() * 1e3),
                row("lost", lost as f64),
            ],
            void: (usize::from(stall > STALL), 1),
        })
    }
}

/// How long this process has run on any core.
fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

async fn server_cpu(stage: &Stage<'_>) -> Result<f64, BoxError> {
    let user = machine::info(stage.server, "used_cpu_user").await?;
    let system = machine::info(stage.server, "used_cpu_sys").await?;
    Ok(user.parse::<f64>()? + system.parse::<f64>()?)
}

/// How many scripts the server has run; nothing but renewals while the locks are only held.
async fn renewals(stage: &Stage<'_>) -> Result<f64, BoxError> {
    let stats = machine::info(stage.server, "cmdstat_evalsha").await?;
    let calls = stats.split([',', '=']).nth(1).unwrap_or_default();
    Ok(calls.parse()?)
}
