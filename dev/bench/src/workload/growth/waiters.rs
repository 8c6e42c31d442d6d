use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::LockManager;
use tokio::task::JoinSet;
use tokio::time::sleep;
use uuid::Uuid;

use super::scale::{Scale, costs, size};
use crate::BoxError;
use crate::meter::Meter;
use crate::report::Outcome;
use crate::rounds::Values;
use crate::turns::{Bill, Done};
use crate::workload::{Environment, Workload};

pub(super) const SCALE: Scale = Scale {
    workload: "hand-offs of a key, 1 to 1 000 waiters",
    sizes: &[
        size(1, &["us_of_1_waiter", "commands_of_1_waiter"]),
        size(10, &["us_of_10_waiters", "commands_of_10_waiters"]),
        size(100, &["us_of_100_waiters", "commands_of_100_waiters"]),
        size(1_000, &["us_of_1e3_waiters", "commands_of_1e3_waiters"]),
    ],
};

/// The contestant whose waiters belong to many managers.
pub(crate) const MANAGERS: &str = "leasehold, 50 managers";

/// The number of managers that stand for processes.
const COUNT: usize = 50;

const SLICE: Duration = Duration::from_millis(150);

/// Tasks that acquire one key all the time, so that one holds it and the others wait: in one manager, and in many
/// managers, which wait for each other as processes do. Waiting begins before the measured time and ends after it.
#[derive(Debug)]
pub(crate) struct Waiters;

#[async_trait(?Send)]
impl Workload for Waiters {
    fn name(&self) -> String {
        SCALE.workload.to_owned()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let mut managers = Vec::new();
        for _ in 0..COUNT {
            managers.push(LockManager::connect(&environment.field.redis).await?);
        }
        let rounds = if environment.quick { 2 } else { 8 };
        let run = async |at: usize, size: usize| {
            let managers = if at == 0 { &managers[..1] } else { &managers };
            hand_offs(managers, SCALE.sizes[size].count, environment.meter).await
        };
        let plan = (SCALE.sizes.len(), rounds);
        SCALE.take_turns(plan, &["leasehold", MANAGERS], run).await
    }
}

/// What the tasks of a slice share.
#[derive(Debug, Default)]
struct Contention {
    grants: AtomicUsize,
    is_over: AtomicBool,
}

impl Contention {
    async fn take_turns(&self, locks: &LockManager, key: &str) -> Result<(), BoxError> {
        while !self.is_over.load(Ordering::Relaxed) {
            let guard = locks.lock(key).acquire().await?;
            self.grants.fetch_add(1, Ordering::Relaxed);
            guard.release().await?;
        }
        Ok(())
    }

    fn grants(&self) -> usize {
        self.grants.load(Ordering::Relaxed)
    }
}

async fn hand_offs(
    managers: &[LockManager],
    waiters: usize,
    meter: &Meter,
) -> Result<Values, BoxError> {
    let contention = Arc::new(Contention::default());
    let key = format!("waiters:{}", Uuid::new_v4());
    let mut tasks = JoinSet::new();
    // The others wait while one task holds the lock.
    for locks in managers.iter().cycle().take(waiters + 1) {
        let (contention, locks, key) = (Arc::clone(&contention), locks.clone(), key.clone());
        tasks.spawn(async move { contention.take_turns(&locks, &key).await });
    }
    // After this many grants each task has had a turn, and waits again.
    while contention.grants() < 2 * (waiters + 1) {
        sleep(Duration::from_millis(1)).await;
    }
    let slice = async {
        let before = contention.grants();
        sleep(SLICE).await;
        Ok(Done {
            grants: contention.grants() - before,
            values: Vec::new(),
            elsewhere: None,
        })
    };
    let bill = Bill::of(std::slice::from_ref(meter), slice).await?;
    contention.is_over.store(true, Ordering::Relaxed);
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(costs(&bill))
}
