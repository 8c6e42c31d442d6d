use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use super::scale::{Scale, size};
use crate::BoxError;
use crate::contestant::scripts::Scripts;
use crate::contestant::{AnyContestant, Field, Way};
use crate::meter::Meter;
use crate::progress;
use crate::report::{Outcome, Row};
use crate::rounds::Values;
use crate::turns::Bill;
use crate::workload::uncontended::Pairs;
use crate::workload::{Environment, Workload};

pub(super) const SCALE: Scale = Scale {
    workload: "16 tasks, 1 000 to 1 000 000 keys",
    sizes: &[
        size(1_000, &["us_of_1e3_keys", "commands_of_1e3_keys"]),
        size(10_000, &["us_of_1e4_keys", "commands_of_1e4_keys"]),
        size(100_000, &["us_of_1e5_keys", "commands_of_1e5_keys"]),
        size(1_000_000, &["us_of_1e6_keys", "commands_of_1e6_keys"]),
    ],
};

/// Without the direct scripts, because the keys are those of the library.
const WAYS: &[Way] = &[Way::Bare, Way::Drawing, Way::Leasehold];

const TASKS: usize = 16;

/// How many keys are created together.
const CHUNK: usize = 500;

/// Tasks that lock random keys, all of which were locked once, on one server per size.
#[derive(Debug)]
pub(crate) struct Keys;

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
            progress::show(SCALE.workload, first, keys);
            let some = first..keys.min(first + CHUNK);
            let some: Vec<_> = some.map(|key| format!("lock:key:{key}")).collect();
            scripts.fill(&some).await?;
        }
        progress::show(SCALE.workload, keys, keys);
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

    async fn costs(&self, at: usize) -> Result<Values, BoxError> {
        let slice = Pairs {
            tasks: TASKS,
            slice: Duration::from_millis(60),
            keys: self.keys / TASKS,
        };
        let meters = std::slice::from_ref(&self.meter);
        let bill = Bill::of(meters, self.entrants[at].receive(&slice)).await?;
        Ok(vec![bill.us(), bill.commands(WAYS[at].sends())])
    }
}

#[async_trait(?Send)]
impl Workload for Keys {
    fn name(&self) -> String {
        SCALE.workload.to_owned()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (sizes, rounds) = match environment.quick {
            true => (3, 5),
            false => (SCALE.sizes.len(), 20),
        };
        let mut sites = Vec::new();
        for size in &SCALE.sizes[..sizes] {
            sites.push(Site::with(size.count, environment).await?);
        }
        let names: Vec<_> = WAYS.iter().map(|way| way.name()).collect();
        let run = async |at: usize, size: usize| sites[size].costs(at).await;
        let mut outcome = SCALE.take_turns((sizes, rounds), &names, run).await?;
        if let Some(site) = sites.last() {
            let bytes = Row::single(Way::Leasehold.name(), "bytes_per_key", site.bytes_per_key);
            outcome.rows.push(bytes);
        }
        Ok(outcome)
    }
}
