use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use distributed_lock_redis::RedisLockProvider;
use leasehold::LockManager;
use tokio::task::JoinSet;
use tokio::time::timeout_at;
use uuid::Uuid;

use super::{Contestant, Wish};
use crate::BoxError;
use crate::contestant::distkit::Distkit;
use crate::contestant::scripts::Scripts;
use crate::report::Outcome;
use crate::rounds::{Values, quantile};
use crate::turns::Plan;
use crate::workload::{Environment, Workload};

const METRICS: &[&str] = &[
    "turns_per_s",
    "wait_p50_ms",
    "wait_p999_ms",
    "write_wait_p50_ms",
];

/// Tasks that acquire one lock all the time, and hold it for a millisecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kinds {
    name: &'static str,
    tasks: usize,
    readers: bool,
}

impl Kinds {
    pub(crate) const READERS: Self = Self {
        name: "read-write lock, 95 % readers, 8 tasks, 1 ms",
        tasks: 8,
        readers: true,
    };

    pub(crate) const PERMITS: Self = Self {
        name: "semaphore, 4 permits, 16 tasks, 1 ms",
        tasks: 16,
        readers: false,
    };

    async fn contestants(
        self,
        url: &str,
    ) -> Result<Vec<(&'static str, Arc<dyn Contestant>)>, BoxError> {
        let mut all: Vec<(_, Arc<dyn Contestant>)> = vec![
            ("same scripts by hand", Arc::new(Scripts::enter(url).await?)),
            ("leasehold", Arc::new(LockManager::connect(url).await?)),
        ];
        if self.readers {
            all.push(("distkit", Arc::new(Distkit::enter(url).await?)));
        }
        let other = RedisLockProvider::new(url).await?;
        all.push(("distributed-lock-redis", Arc::new(other)));
        Ok(all)
    }

    async fn slice(self, who: &Arc<dyn Contestant>, slice: Duration) -> Result<Values, BoxError> {
        let key = format!("kinds:{}", Uuid::new_v4());
        let end = Instant::now() + slice;
        let mut tasks = JoinSet::new();
        for _ in 0..self.tasks {
            let (who, key) = (Arc::clone(who), key.clone());
            tasks.spawn(async move {
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                loop {
                    let wish = self.wish();
                    let asked = Instant::now();
                    let mut waited = None;
                    let mut granted = || waited = Some(asked.elapsed());
                    let turn = timeout_at(end.into(), who.turn(&key, wish, &mut granted)).await;
                    // A task that did not get the lock has waited, too.
                    let waited = waited.unwrap_or_else(|| asked.elapsed());
                    let waits = if wish == Wish::Write {
                        &mut writes
                    } else {
                        &mut reads
                    };
                    waits.push(waited.as_secs_f64() * 1e3);
                    match turn {
                        Ok(turn) => turn?,
                        Err(_over) => return Ok::<_, BoxError>((reads, writes)),
                    }
                }
            });
        }
        let (mut all, mut writes) = (Vec::new(), Vec::new());
        while let Some(task) = tasks.join_next().await {
            let (read, wrote) = task??;
            all.extend(read);
            all.extend(&wrote);
            writes.extend(wrote);
        }
        all.sort_by(f64::total_cmp);
        writes.sort_by(f64::total_cmp);
        let turns = all.len().saturating_sub(self.tasks);
        Ok(vec![
            turns as f64 / slice.as_secs_f64(),
            quantile(&all, 0.5),
            quantile(&all, 0.999),
            quantile(&writes, 0.5),
        ])
    }

    fn wish(self) -> Wish {
        match self.readers {
            false => Wish::Permit,
            true if fastrand::u32(0..100) < 95 => Wish::Read,
            true => Wish::Write,
        }
    }
}

#[async_trait(?Send)]
impl Workload for Kinds {
    fn name(&self) -> String {
        self.name.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (rounds, millis) = if environment.quick {
            (2, 350)
        } else {
            (5, 1_000)
        };
        let contestants = self.contestants(&environment.field.redis).await?;
        let names: Vec<_> = contestants.iter().map(|(name, _)| *name).collect();
        let plan = Plan {
            workload: self.name,
            metrics: METRICS,
            rounds,
        };
        let slice = Duration::from_millis(millis);
        let run = async |at: usize| self.slice(&contestants[at].1, slice).await;
        plan.take_turns(&names, run).await
    }
}
