use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use super::contended::{self, Rush};
use super::uncontended::{self, Uncontended};
use super::{Stage, Workload};
use crate::BoxError;
use crate::contestant;
use crate::report::Outcome;
use crate::turns::take_turns;

const NODES: usize = 5;

/// What is done under the lock that many want.
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

/// One task on a majority of five nodes.
#[derive(Debug)]
pub(crate) struct Alone;

#[async_trait(?Send)]
impl Workload for Alone {
    fn name(&self) -> &'static str {
        "redlock, 5 nodes, 1 task"
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let nodes = start().await?;
        let rounds = if stage.quick { 20 } else { 200 };
        let entrants = contestant::on_nodes(&urls(&nodes)).await?;
        let slice = Uncontended {
            name: self.name(),
            tasks: 1,
        };
        take_turns(self.name(), uncontended::METRICS, &entrants, rounds, &slice).await
    }
}

/// Eight tasks that want one key of five nodes, for 5 ms each. By hand it is one task, which waits for nobody.
#[derive(Debug)]
pub(crate) struct Crowd;

#[async_trait(?Send)]
impl Workload for Crowd {
    fn name(&self) -> &'static str {
        "redlock, 5 nodes, 8 tasks, 5 ms"
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let nodes = start().await?;
        let (rounds, millis) = if stage.quick { (3, 350) } else { (10, 2_000) };
        let slice = Duration::from_millis(millis);
        let entrants = contestant::on_nodes(&urls(&nodes)).await?;
        let rush = Rush {
            slice,
            section: SECTION,
        };
        take_turns(self.name(), contended::METRICS, &entrants, rounds, &rush).await
    }
}

/// The library on five nodes, and on five of which two are stopped: the second is measured by the first.
#[derive(Debug)]
pub(crate) struct Stopped;

#[async_trait(?Send)]
impl Workload for Stopped {
    fn name(&self) -> &'static str {
        "redlock, all 5 nodes, then 2 stopped"
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let (whole, broken) = (start().await?, start().await?);
        let rounds = if stage.quick { 20 } else { 200 };
        let entrants = [
            contestant::ours_on_nodes(&urls(&whole)).await?,
            contestant::ours_on_nodes(&urls(&broken)).await?,
        ];
        broken[1].pause()?;
        broken[3].pause()?;
        let slice = Uncontended {
            name: self.name(),
            tasks: 1,
        };
        take_turns(self.name(), uncontended::METRICS, &entrants, rounds, &slice).await
    }
}
