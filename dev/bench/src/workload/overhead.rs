use std::time::Instant;

use async_trait::async_trait;
use leasehold::{Error, LockManager, distributed_lock};

use super::{Environment, Workload};
use crate::BoxError;
use crate::progress;
use crate::report::Outcome;
use crate::rounds::Rounds;

pub(crate) const NAME: &str = "an annotated function, in process";
pub(crate) const METRIC: &str = "call_ns";
pub(crate) const BY_HAND: &str = "by hand";
pub(crate) const ANNOTATED: &str = "#[distributed_lock]";

const CALLS: u32 = 2_000;

#[distributed_lock("order:{id}", manager = locks)]
async fn annotated(locks: &LockManager, id: u64) -> Result<u64, Error> {
    Ok(id)
}

async fn by_hand(locks: &LockManager, id: u64) -> Result<u64, Error> {
    let guard = locks.lock(format!("order:{id}")).acquire().await?;
    let id = guard.run(async |_| Ok::<_, Error>(id)).await?;
    guard.release().await?;
    Ok(id)
}

/// Compares an annotated function with the same lock in code, without a server that would hide the difference.
#[derive(Debug)]
pub(crate) struct Macro;

#[async_trait(?Send)]
impl Workload for Macro {
    fn name(&self) -> String {
        NAME.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let count = if environment.quick { 40 } else { 300 };
        tokio::spawn(measure(count)).await?
    }
}

async fn measure(count: usize) -> Result<Outcome, BoxError> {
    let locks = LockManager::in_process();
    let mut rounds = Rounds::new(&[METRIC], &[BY_HAND, ANNOTATED]);
    for round in 0..count {
        progress::show(NAME, round, count);
        for at in [round % 2, 1 - round % 2] {
            rounds.slice_begins();
            let begin = Instant::now();
            for id in 0..u64::from(CALLS) {
                match at {
                    0 => by_hand(&locks, id).await?,
                    _ => annotated(&locks, id).await?,
                };
            }
            let each = begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS);
            rounds.slice_ends(at, vec![each]);
        }
    }
    progress::show(NAME, count, count);
    Ok(rounds.outcome())
}
