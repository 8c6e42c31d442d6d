use std::hint::black_box;
use std::time::Instant;

use async_trait::async_trait;
use leasehold::LockManager;
use tokio::sync::Mutex;

use super::{Environment, Workload};
use crate::BoxError;
use crate::progress;
use crate::report::Outcome;
use crate::rounds::Rounds;

const PAIRS: u32 = 5_000;

/// An uncontended lock without a server, compared with tokio's mutex, which does not have a lease, a token or a key.
#[derive(Debug)]
pub(crate) struct InProcess;

#[async_trait(?Send)]
impl Workload for InProcess {
    fn name(&self) -> String {
        NAME.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let count = if environment.quick { 40 } else { 400 };
        // Use a task, as in a service.
        tokio::spawn(measure(count)).await?
    }
}

pub(crate) const NAME: &str = "in process, 1 task";

async fn measure(count: usize) -> Result<Outcome, BoxError> {
    let (locks, mutex) = (LockManager::in_process(), Mutex::new(()));
    let mut rounds = Rounds::new(&["pair_ns"], &["tokio::sync::Mutex", "leasehold"]);
    for round in 0..count {
        progress::show(NAME, round, count);
        rounds.slice_begins();
        let begin = Instant::now();
        for _ in 0..PAIRS {
            drop(black_box(black_box(&mutex).lock().await));
        }
        rounds.slice_ends(0, vec![nanos_each(begin)]);
        rounds.slice_begins();
        let begin = Instant::now();
        for _ in 0..PAIRS {
            let guard = locks.lock("order:42").acquire().await?;
            guard.release().await?;
        }
        rounds.slice_ends(1, vec![nanos_each(begin)]);
    }
    progress::show(NAME, count, count);
    Ok(rounds.outcome())
}

fn nanos_each(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}
