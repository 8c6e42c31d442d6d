//! A job of `tokio-cron-scheduler` that runs once per fire time, on one of several instances.
//!
//! Every instance has the same job. The job is a function with `once` and `slot`: its key ends with the fire time, and
//! its result is recorded. So one instance runs the body, and the others return its result.
//!
//! Run it with `cargo run --example tokio_cron_scheduler`, which starts three instances in one process. Add
//! `-- redis://127.0.0.1` to start one instance, and run it in several terminals.
//!
//! `tokio-cron-scheduler` checks every 500 ms which jobs are due, so a job begins up to half a second late. A slot
//! tolerates that if the job fires every two seconds, or less often. Try: `contended = "skip"` instead of `once` and
//! `slot`, and most reports are sent several times.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

use std::time::Duration;

use leasehold::{Error, LockManager, distributed_lock};
use leasehold_examples::BoxError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tokio_cron_scheduler::{Job, JobScheduler};

#[distributed_lock("report", manager = locks, once = "1d", slot = "*/2 * * * * *", guard = lock)]
async fn send_report(locks: &LockManager, instance: usize) -> Result<String, Error> {
    sleep(Duration::from_millis(10)).await; // the work
    Ok(format!("{} was sent by instance {instance}", lock.key()))
}

/// Starts the scheduler of one instance. The instance sends the result of each call to `results`.
async fn start(
    instance: usize,
    locks: LockManager,
    results: UnboundedSender<String>,
) -> Result<JobScheduler, BoxError> {
    let scheduler = JobScheduler::new().await?;
    let job = Job::new_async("*/2 * * * * *", move |_id, _scheduler| {
        let (locks, results) = (locks.clone(), results.clone());
        Box::pin(async move {
            match send_report(&locks, instance).await {
                // At the end the receiver is dropped.
                Ok(result) => drop(results.send(result)),
                Err(error) => eprintln!("instance {instance}: {error}"),
            }
        })
    })?;
    scheduler.add(job).await?;
    scheduler.start().await?;
    Ok(scheduler)
}

/// Starts instances, and returns their schedulers and their results.
async fn start_all(
    instances: usize,
    locks: &LockManager,
) -> Result<(Vec<JobScheduler>, UnboundedReceiver<String>), BoxError> {
    let (send, results) = unbounded_channel();
    let mut schedulers = Vec::new();
    for instance in 1..=instances {
        schedulers.push(start(instance, locks.clone(), send.clone()).await?);
    }
    Ok((schedulers, results))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (locks, instances) = match std::env::args().nth(1) {
        Some(url) => (LockManager::connect(&url).await?, 1),
        None => (LockManager::in_process(), 3),
    };
    let (schedulers, mut results) = start_all(instances, &locks).await?;
    for _ in 0..5 * instances {
        if let Some(result) = results.recv().await {
            println!("{result}");
        }
    }
    for mut scheduler in schedulers {
        scheduler.shutdown().await?;
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
        let (_schedulers, mut results) = start_all(3, &locks).await.unwrap();
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
