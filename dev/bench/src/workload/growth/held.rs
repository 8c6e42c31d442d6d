use std::time::Duration;

use async_trait::async_trait;
use leasehold::{LockGuard, LockManager};
use leasehold_testkit::servers::RedisServer;

use super::scale::{Scale, costs, size};
use crate::BoxError;
use crate::contestant::Visitor;
use crate::contestant::leasehold::Leasehold;
use crate::meter::Meter;
use crate::report::Outcome;
use crate::turns::Bill;
use crate::workload::uncontended::Pairs;
use crate::workload::{Environment, Workload, held};

pub(super) const SCALE: Scale = Scale {
    workload: "1 task, 1 to 10 000 held locks",
    sizes: &[
        size(1, &["us_of_1_held", "commands_of_1_held"]),
        size(10, &["us_of_10_held", "commands_of_10_held"]),
        size(100, &["us_of_100_held", "commands_of_100_held"]),
        size(1_000, &["us_of_1e3_held", "commands_of_1e3_held"]),
        size(10_000, &["us_of_1e4_held", "commands_of_1e4_held"]),
    ],
};

/// A task that acquires and releases a lock while its manager holds others, on one server per size. The renewals come
/// every ten seconds, so most slices do not include them; see the workload [`held`].
#[derive(Debug)]
pub(crate) struct Held;

/// A server, and a manager that holds locks on it.
#[derive(Debug)]
struct Site {
    meter: Meter,
    locks: LockManager,
    _guards: Vec<LockGuard>,
    _server: RedisServer,
}

impl Site {
    async fn with(count: usize) -> Result<Self, BoxError> {
        let server = RedisServer::start().await?;
        let locks = LockManager::connect(&server.url()).await?;
        Ok(Self {
            meter: Meter::of(&server).await?,
            _guards: held::acquire(&locks, count).await?,
            locks,
            _server: server,
        })
    }
}

#[async_trait(?Send)]
impl Workload for Held {
    fn name(&self) -> String {
        SCALE.workload.to_owned()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let mut sites = Vec::new();
        for size in SCALE.sizes {
            sites.push(Site::with(size.count).await?);
        }
        let rounds = if environment.quick { 8 } else { 40 };
        let pairs = Pairs {
            tasks: 1,
            slice: Duration::from_millis(60),
            keys: 1,
        };
        let run = async |_only: usize, size: usize| {
            let Site { meter, locks, .. } = &sites[size];
            let contestant = Leasehold::with(locks.clone());
            let bill = Bill::of(std::slice::from_ref(meter), pairs.visit(&contestant)).await?;
            Ok(costs(&bill))
        };
        let plan = (SCALE.sizes.len(), rounds);
        let outcome = SCALE.take_turns(plan, &["leasehold"], run).await?;
        for site in &sites {
            site.locks.shutdown().await?;
        }
        Ok(outcome)
    }
}
