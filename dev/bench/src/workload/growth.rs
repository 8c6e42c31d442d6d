use std::cell::Cell;
use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use super::uncontended::Pairs;
use super::{Environment, Workload};
use crate::BoxError;
use crate::contestant::scripts::Scripts;
use crate::contestant::{AnyContestant, Field, Way};
use crate::meter::Meter;
use crate::progress;
use crate::report::{Outcome, Row};
use crate::rounds::Values;
use crate::turns::{Bill, Plan};

pub(crate) const NAME: &str = "16 tasks, 1 000 to 1 000 000 keys";

/// The number of keys, and the metric for the CPU time of a pair on both sides, in microseconds.
pub(crate) const SIZES: &[(usize, &str)] = &[
    (1_000, "us_of_1e3_keys"),
    (10_000, "us_of_1e4_keys"),
    (100_000, "us_of_1e5_keys"),
    (1_000_000, "us_of_1e6_keys"),
];

const METRICS: &[&str] = &[SIZES[0].1, SIZES[1].1, SIZES[2].1, SIZES[3].1];

/// Without the direct scripts, because the keys are those of the library.
const WAYS: &[Way] = &[Way::Bare, Way::Drawing, Way::Leasehold];

const TASKS: usize = 16;

/// How many keys are created together.
const CHUNK: usize = 500;

/// Tasks that lock random keys, all of which were locked once. Each contestant runs on one server per size in turn. So
/// a slow machine does not make one size look more expensive than the others.
#[derive(Debug)]
pub(crate) struct Growth;

/// A server with this number of keys, and its contestants.
#[derive(Debug)]
struct Site {
    keys: usize,
    meter: Meter,
    entrants: Vec<AnyContestant>,
    bytes_per_key: f64,
    _server: RedisServer,
}

impl Site {
    async fn with(keys: usize, environment: &Environment<'_>) -> Result<Self, BoxError> {
        let server = RedisServer::start().await?;
        let meter = Meter::of(&server).await?;
        let scripts = Scripts::enter(&server.url()).await?;
        let before = meter.read().await?.number("used_memory");
        for first in (0..keys).step_by(CHUNK) {
            progress::show(NAME, first, keys);
            let some = first..keys.min(first + CHUNK);
            let some: Vec<_> = some.map(|key| format!("lock:key:{key}")).collect();
            scripts.fill(&some).await?;
        }
        progress::show(NAME, keys, keys);
        let after = meter.read().await?.number("used_memory");
        let field = Field {
            redis: server.url(),
            ..environment.field.clone()
        };
        Ok(Self {
            keys,
            meter,
            entrants: field.enter(WAYS).await?,
            bytes_per_key: (after - before) / keys as f64,
            _server: server,
        })
    }

    async fn cost(&self, at: usize) -> Result<f64, BoxError> {
        let slice = Pairs {
            tasks: TASKS,
            slice: Duration::from_millis(60),
            keys: self.keys / TASKS,
        };
        let bill = Bill::of(&self.meter, self.entrants[at].receive(&slice)).await?;
        Ok(bill.client_us() + bill.server_us())
    }
}

#[async_trait(?Send)]
impl Workload for Growth {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let sizes = if environment.quick { 3 } else { SIZES.len() };
        let mut sites = Vec::new();
        for &(keys, _) in &SIZES[..sizes] {
            sites.push(Site::with(keys, environment).await?);
        }
        let plan = Plan {
            workload: NAME,
            metrics: &METRICS[..sizes],
            rounds: if environment.quick { 5 } else { 20 },
        };
        let turns = Cell::new(0);
        let run = async |at: usize| -> Result<Values, BoxError> {
            let turn = turns.replace(turns.get() + 1);
            let mut costs = vec![f64::NAN; sizes];
            for step in 0..sizes {
                // Each round starts with another size.
                let size = (turn + step) % sizes;
                costs[size] = sites[size].cost(at).await?;
            }
            Ok(costs)
        };
        let names: Vec<_> = WAYS.iter().map(|way| way.name()).collect();
        let mut outcome = plan.take_turns(&names, run).await?;
        if let Some(site) = sites.last() {
            let bytes = Row::single(Way::Leasehold.name(), "bytes_per_key", site.bytes_per_key);
            outcome.rows.push(bytes);
        }
        Ok(outcome)
    }
}
