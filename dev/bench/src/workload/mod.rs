//! What is measured.

pub(crate) mod contended;
pub(crate) mod day_later;
pub(crate) mod growth;
pub(crate) mod handoff;
pub(crate) mod held;
pub(crate) mod in_process;
mod kinds;
mod nested;
mod nodes;
mod overhead;
mod sql;
mod tower;
pub(crate) mod uncontended;
pub(crate) mod waiters;

use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;
use crate::contestant::Field;
use crate::meter::Meter;
use crate::report::Outcome;

/// Something that contestants do.
#[async_trait(?Send)]
pub(crate) trait Workload: Send + Sync {
    fn name(&self) -> String;
    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError>;
}

/// Where, by whom, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) server: &'a RedisServer,
    pub(crate) meter: &'a Meter,
    pub(crate) field: &'a Field,
    pub(crate) quick: bool,
}

/// All of them, or those that take no more than a few seconds each.
pub(crate) fn all(quick: bool) -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = Vec::new();
    for &tasks in uncontended::TASKS {
        all.push(Box::new(uncontended::Uncontended { tasks }));
    }
    for cell in contended::Contended::ALL {
        all.push(Box::new(*cell));
    }
    all.push(Box::new(handoff::HandOff::ONE));
    all.push(Box::new(waiters::Waiters));
    all.push(Box::new(held::Held));
    all.push(Box::new(nodes::Alone));
    all.push(Box::new(nodes::Crowd));
    all.push(Box::new(nodes::Stopped));
    all.push(Box::new(kinds::Kinds::READERS));
    all.push(Box::new(kinds::Kinds::PERMITS));
    let sizes = growth::SIZES.iter().copied();
    for keys in sizes.filter(|&keys| keys <= 100_000 || !quick) {
        all.push(Box::new(growth::Growth { keys }));
    }
    all.push(Box::new(day_later::DayLater));
    all.push(Box::new(in_process::InProcess));
    all.push(Box::new(nested::Nested));
    all.push(Box::new(overhead::Macro));
    all.push(Box::new(tower::Tower { on_redis: false }));
    all.push(Box::new(tower::Tower { on_redis: true }));
    all.push(Box::new(sql::Sql::Postgres));
    all.push(Box::new(sql::Sql::MariaDb));
    all.push(Box::new(sql::Sql::Sqlite));
    all
}
