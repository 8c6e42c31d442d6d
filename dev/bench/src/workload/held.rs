use std::time::{Duration, Instant};

use async_trait::async_trait;
use leasehold::{LockGuard, LockManager};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Environment, Workload};
use crate::BoxError;
use crate::clock;
use crate::report::Outcome;
use crate::rounds::STALL;
use crate::stall_monitor::StallMonitor;

pub(crate) const NAME: &str = "10 000 held locks, TTL 30 s";

const LOCKS: usize = 10_000;
const TTL: Duration = Duration::from_secs(30);

/// Locks that are held and renewed by one watchdog of their manager: each once in a third of its TTL.
#[derive(Debug)]
pub(crate) struct Held;

#[async_trait(?Send)]
impl Workload for Held {
    fn name(&self) -> String {
        NAME.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let locks = LockManager::connect(&environment.server.url()).await?;
        // The tasks of dropped connections may still be alive.
        sleep(Duration::from_millis(100)).await;
        let tasks_before = Handle::current().metrics().num_alive_tasks();
        let guards = acquire(&locks, LOCKS).await?;
        let stall_monitor = StallMonitor::start();
        let watched = TTL / 3 * if environment.quick { 1 } else { 2 };
        // The CPU time of the stall monitor is not that of the library.
        let taken = || clock::cpu().saturating_sub(stall_monitor.cpu());
        let (begin, cpu, before) = (Instant::now(), taken(), environment.meter.read().await?);
        sleep(watched).await;
        let after = environment.meter.read().await?;
        let tasks = Handle::current().metrics().num_alive_tasks() - tasks_before;
        let seconds = begin.elapsed().as_secs_f64();
        let cpu = taken().saturating_sub(cpu).as_secs_f64();
        let calls = |command| after.calls(&[command]) - before.calls(&[command]);
        // Each renewal sets the TTL of a lock and of its counter.
        let renewals = calls("pexpire") / 2.0;
        let stall = stall_monitor.longest_stall();
        let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
        locks.shutdown().await?;
        drop(guards);

        let figures = [
            ("client_cpu_percent", cpu / seconds * 100.0),
            (
                "server_cpu_percent",
                (after.cpu() - before.cpu()) / seconds * 100.0,
            ),
            ("renewals_per_s", renewals / seconds),
            ("scripts_per_s", calls("evalsha") / seconds),
            ("client_us_per_renewal", cpu / renewals * 1e6),
            ("tasks", tasks as f64),
            ("longest_stall_ms", stall.as_secs_f64() * 1e3),
            ("lost", lost as f64),
        ];
        let mut outcome = Outcome::single("leasehold", &figures);
        outcome.void = (usize::from(stall > STALL), 1);
        Ok(outcome)
    }
}

/// Acquires many locks with a few tasks.
pub(super) async fn acquire(locks: &LockManager, count: usize) -> Result<Vec<LockGuard>, BoxError> {
    let mut takers = JoinSet::new();
    for taker in 0..64 {
        let locks = locks.clone();
        takers.spawn(async move {
            let mut guards = Vec::new();
            for lock in (taker..count).step_by(64) {
                let lock = locks.lock(format!("held:{lock}")).ttl(TTL);
                guards.push(lock.acquire().await?);
            }
            Ok::<_, leasehold::Error>(guards)
        });
    }
    let mut guards = Vec::with_capacity(count);
    while let Some(taken) = takers.join_next().await {
        guards.extend(taken??);
    }
    Ok(guards)
}
