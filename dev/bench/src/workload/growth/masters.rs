use std::time::Duration;

use async_trait::async_trait;
use leasehold::LockManager;
use leasehold_testkit::servers::ClusterRedis;

use super::scale::{Scale, costs, size};
use crate::BoxError;
use crate::contestant::leasehold::Leasehold;
use crate::contestant::{Visitor, Way};
use crate::meter::Meter;
use crate::report::Outcome;
use crate::rounds::Values;
use crate::turns::Bill;
use crate::workload::uncontended::Pairs;
use crate::workload::{Environment, Workload};

pub(super) const SCALE: Scale = Scale {
    workload: "a spread of keys, 1 to 6 Cluster masters",
    sizes: &[
        size(
            1,
            &["us_of_1_master", "commands_of_1_master", "busiest_of_1"],
        ),
        size(
            2,
            &["us_of_2_masters", "commands_of_2_masters", "busiest_of_2"],
        ),
        size(
            3,
            &["us_of_3_masters", "commands_of_3_masters", "busiest_of_3"],
        ),
        size(
            6,
            &["us_of_6_masters", "commands_of_6_masters", "busiest_of_6"],
        ),
    ],
};

/// The contestants, by name and number of tasks. With several tasks, concurrent requests to one master are batched.
const TASKS: &[(&str, usize)] = &[("leasehold", 1), ("leasehold, 16 tasks", 16)];

const KEYS: usize = 4_096;

/// Tasks that lock random keys, which are spread over the masters of a Cluster. Each size has its own Cluster. The third
/// figure is the busiest master's number of commands, divided by the average of the masters.
#[derive(Debug)]
pub(crate) struct Masters;

/// A Cluster, and its client.
#[derive(Debug)]
struct Site {
    meters: Vec<Meter>,
    locks: Leasehold,
    _cluster: ClusterRedis,
}

impl Site {
    async fn with(masters: usize) -> Result<Self, BoxError> {
        let cluster = ClusterRedis::start_with(masters).await?;
        let mut meters = Vec::new();
        for master in 0..masters {
            meters.push(Meter::of(cluster.server(master)).await?);
        }
        let url = format!("redis+cluster://{}", cluster.hosts());
        Ok(Self {
            meters,
            locks: Leasehold::with(LockManager::connect(&url).await?),
            _cluster: cluster,
        })
    }

    async fn costs(&self, tasks: usize) -> Result<Values, BoxError> {
        let pairs = Pairs {
            tasks,
            slice: Duration::from_millis(80),
            keys: KEYS / tasks,
        };
        let bill = Bill::of(&self.meters, pairs.visit(&self.locks)).await?;
        let sends = Way::Leasehold.sends();
        let busiest = bill.commands_by_server(sends).fold(0.0, f64::max);
        let average = bill.commands(sends) / self.meters.len() as f64;
        Ok([costs(&bill), vec![busiest / average]].concat())
    }
}

#[async_trait(?Send)]
impl Workload for Masters {
    fn name(&self) -> String {
        SCALE.workload.to_owned()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let mut sites = Vec::new();
        for size in SCALE.sizes {
            sites.push(Site::with(size.count).await?);
        }
        let rounds = if environment.quick { 4 } else { 20 };
        let names: Vec<_> = TASKS.iter().map(|(name, _)| *name).collect();
        let run = async |at: usize, size: usize| sites[size].costs(TASKS[at].1).await;
        let plan = (SCALE.sizes.len(), rounds);
        SCALE.take_turns(plan, &names, run).await
    }
}
