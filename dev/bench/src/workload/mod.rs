//! What is measured.

mod contended;
mod handoff;
mod held;
mod nested;
mod nodes;
mod uncontended;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;
use crate::contestant::Field;
use crate::report::Outcome;

/// Something that contestants do.
#[async_trait(?Send)]
pub(crate) trait Workload: Send + Sync {
    fn name(&self) -> &'static str;
    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError>;
}

/// Where, by whom, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) server: &'a RedisServer,
    pub(crate) field: &'a Field,
    pub(crate) quick: bool,
}

pub(crate) fn all() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(uncontended::Uncontended::ONE),
        Box::new(uncontended::Uncontended::MANY),
        Box::new(contended::Contended),
        Box::new(handoff::HandOff::ONE),
        Box::new(held::Held),
        Box::new(nested::Nested),
        Box::new(nodes::Alone),
        Box::new(nodes::Crowd),
        Box::new(nodes::Stopped),
    ]
}
