use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use super::uncontended::{METRICS, Pairs};
use super::{Stage, Workload};
use crate::BoxError;
use crate::contestant::scripts::Scripts;
use crate::contestant::{Field, Way};
use crate::meter::Meter;
use crate::progress;
use crate::report::{Outcome, Row};
use crate::turns::Plan;

/// How many keys there are.
pub(crate) const SIZES: &[usize] = &[1_000, 10_000, 100_000, 1_000_000];

/// Without the scripts by hand, for the keys are the library's.
const WAYS: &[Way] = &[Way::Bare, Way::Drawing, Way::Leasehold];

const TASKS: usize = 16;

/// How many keys are made at once.
const CHUNK: usize = 500;

pub(crate) fn name(keys: usize) -> String {
    format!("{keys} keys")
}

/// Keys that were locked once, and tasks that lock some of them by chance.
#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) keys: usize,
}

#[async_trait(?Send)]
impl Workload for Growth {
    fn name(&self) -> String {
        name(self.keys)
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let server = RedisServer::start().await?;
        let (meter, name) = (Meter::of(&server).await?, self.name());
        let scripts = Scripts::enter(&server.url()).await?;
        let before = meter.read().await?.number("used_memory");
        for first in (0..self.keys).step_by(CHUNK) {
            progress::show(&name, first, self.keys);
            let keys = first..self.keys.min(first + CHUNK);
            let keys: Vec<_> = keys.map(|key| format!("lock:key:{key}")).collect();
            scripts.fill(&keys).await?;
        }
        progress::show(&name, self.keys, self.keys);
        let after = meter.read().await?.number("used_memory");

        let plan = Plan {
            workload: &name,
            metrics: METRICS,
            rounds: if stage.quick { 5 } else { 20 },
        };
        let field = Field {
            redis: server.url(),
            ..stage.field.clone()
        };
        let slice = Pairs {
            tasks: TASKS,
            slice: Duration::from_millis(60),
            keys: self.keys / TASKS,
        };
        let mut outcome = plan.take_turns_here((&field, &meter), WAYS, &slice).await?;
        let bytes = (after - before) / self.keys as f64;
        let row = Row::single(Way::Leasehold.name(), "bytes_per_key", bytes);
        outcome.rows.push(row);
        Ok(outcome)
    }
}
