use std::time::{Duration, Instant};

use async_trait::async_trait;
use leasehold::LockManager;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Environment, Workload};
use crate::BoxError;
use crate::contestant::Way;
use crate::report::Outcome;
use crate::workers::Workers;

pub(crate) const NAME: &str = "1 000 waiters, 50 processes";

const PROCESSES: u32 = 50;
const TASKS: u32 = 20;
const WAITERS: u32 = PROCESSES * TASKS;

/// How often a waiter polls. The workload measures two intervals, starting between two polls.
const REFRESH: Duration = Duration::from_secs(11);

/// Tasks of many processes that wait for one lock, which another task holds. Measures their cost while nothing happens.
#[derive(Debug)]
pub(crate) struct Waiters;

/// The memory of all processes, in KiB.
#[derive(Debug, Clone, Copy)]
struct Memory {
    /// The allocated memory: the waiters and their tasks.
    heap: f64,
    /// The resident memory, which includes freed memory that the allocator keeps for its threads.
    all: f64,
}

impl Memory {
    async fn of(workers: &mut Workers) -> Result<Self, BoxError> {
        Ok(Self {
            heap: workers.heap_kib().await?,
            all: workers.kib()?,
        })
    }
}

#[async_trait(?Send)]
impl Workload for Waiters {
    fn name(&self) -> String {
        NAME.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let locks = LockManager::connect(&environment.server.url()).await?;
        let key = format!("wanted:{}", Uuid::new_v4());
        let guard = locks.lock(&*key).acquire().await?;
        let mut workers =
            Workers::start_counted(Way::Leasehold, environment.field, PROCESSES).await?;
        workers.warm().await?;
        sleep(Duration::from_millis(500)).await;
        let empty = Memory::of(&mut workers).await?;
        let all_wait = async |workers: &mut Workers, waiters: u32| {
            workers.wait(&key, TASKS).await?;
            while locks.inspect(&*key).await?.waiting < waiters as usize {
                sleep(Duration::from_millis(20)).await;
            }
            Memory::of(workers).await
        };
        all_wait(&mut workers, WAITERS).await?;
        sleep(REFRESH / 2).await;
        let (begin, before) = (Instant::now(), environment.meter.read().await?);
        sleep(REFRESH * 2).await;
        let (after, waiting) = (
            environment.meter.read().await?,
            Memory::of(&mut workers).await?,
        );
        let tens = begin.elapsed().as_secs_f64() / 10.0;
        let commands = after.calls(Way::Leasehold.sends()) - before.calls(Way::Leasehold.sends());
        // The first waiters include one-time costs, and the next ones do not.
        let twice = all_wait(&mut workers, 2 * WAITERS).await?;
        let each = |sum: f64| sum / f64::from(WAITERS);
        let outcome = Outcome::single(
            "leasehold",
            &[
                ("commands_per_waiter_10_s", each(commands) / tens),
                ("heap_kib_per_waiter", each(waiting.heap - empty.heap)),
                ("heap_kib_of_one_more", each(twice.heap - waiting.heap)),
                ("client_kib_per_waiter", each(waiting.all - empty.all)),
                ("client_kib_of_one_more", each(twice.all - waiting.all)),
                (
                    "server_cpu_percent",
                    (after.cpu() - before.cpu()) / tens * 10.0,
                ),
            ],
        );
        drop(workers);
        guard.release().await?;
        Ok(outcome)
    }
}
