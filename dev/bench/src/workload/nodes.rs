use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;
use uuid::Uuid;

use super::uncontended::{self, Pairs};
use super::{Environment, Workload};
use crate::BoxError;
use crate::clock;
use crate::contention::{METRICS, Rush, Tally};
use crate::contestant::{AnyContestant, on_nodes, ours_on_nodes};
use crate::report::Outcome;
use crate::turns::Plan;

pub(crate) const ALONE: &str = "redlock, 5 nodes, 1 task";
pub(crate) const CONTENDERS: &str = "redlock, 5 nodes, 8 tasks, 5 ms";

const NODES: usize = 5;

/// How long the contended lock is held.
const SECTION: Duration = Duration::from_millis(5);

async fn start() -> Result<Vec<RedisServer>, BoxError> {
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(RedisServer::start().await?);
    }
    Ok(nodes)
}

fn urls(nodes: &[RedisServer]) -> Vec<String> {
    nodes.iter().map(RedisServer::url).collect()
}

/// Runs one task with each contestant on these nodes.
async fn alone(
    workload: &str,
    entrants: &[(&'static str, AnyContestant)],
    quick: bool,
) -> Result<Outcome, BoxError> {
    let plan = Plan {
        workload,
        metrics: uncontended::METRICS,
        rounds: if quick { 10 } else { 50 },
    };
    let pairs = Pairs {
        tasks: 1,
        slice: Duration::from_millis(60),
        keys: 1,
    };
    plan.take_turns_with(entrants, &pairs).await
}

/// One task on a majority of five nodes.
#[derive(Debug)]
pub(crate) struct Alone;

#[async_trait(?Send)]
impl Workload for Alone {
    fn name(&self) -> String {
        ALONE.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let nodes = start().await?;
        let entrants = on_nodes(&urls(&nodes)).await?;
        alone(ALONE, &entrants, environment.quick).await
    }
}

/// Eight tasks that acquire one key on five nodes, and hold it for 5 ms. The direct scripts run with one task, because
/// they cannot wait.
#[derive(Debug)]
pub(crate) struct Contenders;

#[async_trait(?Send)]
impl Workload for Contenders {
    fn name(&self) -> String {
        CONTENDERS.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let nodes = start().await?;
        let (rounds, millis) = if environment.quick {
            (2, 350)
        } else {
            (6, 1_000)
        };
        let slice = Duration::from_millis(millis);
        let entrants = on_nodes(&urls(&nodes)).await?;
        let names: Vec<_> = entrants.iter().map(|(name, _)| *name).collect();
        let plan = Plan {
            workload: CONTENDERS,
            metrics: METRICS,
            rounds,
        };
        let run = async |at: usize| {
            let rush = Rush {
                key: format!("contended:{}", Uuid::new_v4()),
                tasks: 8,
                first: 0,
                begin: clock::now(),
                slice,
                section: SECTION,
            };
            let mut tally = Tally::default();
            tally.add(entrants[at].1.receive(&rush).await?);
            Ok(tally.values(slice))
        };
        plan.take_turns(&names, run).await
    }
}

/// The library on five nodes, and on five nodes of which two are stopped. The second figure is compared with the first.
#[derive(Debug)]
pub(crate) struct Stopped;

#[async_trait(?Send)]
impl Workload for Stopped {
    fn name(&self) -> String {
        "redlock, all 5 nodes, then 2 stopped".into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (whole, broken) = (start().await?, start().await?);
        let entrants = [
            ("leasehold", ours_on_nodes(&urls(&whole)).await?),
            ("leasehold, 2 stopped", ours_on_nodes(&urls(&broken)).await?),
        ];
        broken[1].pause()?;
        broken[3].pause()?;
        alone(&self.name(), &entrants, environment.quick).await
    }
}
