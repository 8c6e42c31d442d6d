//! A job of `apalis-cron` that runs once per tick, on one of several instances.
//!
//! Every instance has the same worker. `apalis-cron` passes the fire time as a `Tick`, which is a part of the key. The
//! function has the option `once`, so one instance runs the body for a tick, and the others return its result.
//!
//! Run it with `cargo run --example apalis_cron`, which starts three instances in one process. Add
//! `-- redis://127.0.0.1` to start one instance, and run it in several terminals.
//!
//! Try: return an error from `send_report` in the first instance. The other instances return the same failure for one
//! second, and `keep_failure = "0s"` lets each of them try again.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::str::FromStr;
use std::time::Duration;

use apalis::prelude::{Data, WorkerBuilder};
use apalis_cron::{CronScheduler, Tick};
use cron::Schedule;
use leasehold::{Error, LockManager, distributed_lock};
use leasehold_examples::BoxError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

#[distributed_lock("report:{tick}", manager = locks, once = "1d")]
async fn send_report(locks: &LockManager, tick: u64, instance: usize) -> Result<String, Error> {
    sleep(Duration::from_millis(10)).await; // the work
    Ok(format!("report:{tick} was sent by instance {instance}"))
}

/// What the handler of an instance needs.
#[derive(Debug, Clone)]
struct Instance {
    number: usize,
    locks: LockManager,
    results: UnboundedSender<String>,
}

async fn on_tick(tick: Tick, instance: Data<Instance>) -> Result<(), BoxError> {
    let result = send_report(&instance.locks, tick.get_timestamp(), instance.number).await?;
    // At the end the receiver is dropped.
    drop(instance.results.send(result));
    Ok(())
}

/// Starts instances, and returns their workers and their results.
fn start_all(
    instances: usize,
    locks: &LockManager,
) -> Result<(JoinSet<()>, UnboundedReceiver<String>), BoxError> {
    let (send, results) = unbounded_channel();
    let mut workers = JoinSet::new();
    for number in 1..=instances {
        let instance = Instance {
            number,
            locks: locks.clone(),
            results: send.clone(),
        };
        let worker = WorkerBuilder::new(format!("reports-{number}"))
            .backend(CronScheduler::new(Schedule::from_str("* * * * * *")?))
            .data(instance)
            .build(on_tick);
        workers.spawn(async move {
            if let Err(error) = worker.run().await {
                println!("worker {number} has ended: {error}");
            }
        });
    }
    Ok((workers, results))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (locks, instances) = match std::env::args().nth(1) {
        Some(url) => (LockManager::connect(&url).await?, 1),
        None => (LockManager::in_process(), 3),
    };
    let (_workers, mut results) = start_all(instances, &locks)?;
    for _ in 0..5 * instances {
        if let Some(result) = results.recv().await {
            println!("{result}");
        }
    }
    Ok(locks.shutdown().await?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::time::{Instant, timeout_at};

    use super::*;

    #[tokio::test]
    async fn each_report_is_sent_by_one_instance_and_all_instances_get_its_result() {
        let locks = LockManager::in_process();
        let (_workers, mut results) = start_all(3, &locks).unwrap();
        let mut reports: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let end = Instant::now() + Duration::from_secs(60);
        // The results of the first report can be incomplete, because the instances do not start at the same time.
        while reports
            .values()
            .filter(|results| results.len() == 3)
            .count()
            < 2
        {
            let next = timeout_at(end, results.recv());
            let result = next.await.unwrap().unwrap();
            let (report, _) = result.split_once(' ').unwrap();
            reports.entry(report.to_owned()).or_default().push(result);
        }
        for results in reports.values() {
            assert!(results.iter().all(|it| *it == results[0]), "{results:?}");
        }
    }
}
