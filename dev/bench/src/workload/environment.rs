use async_trait::async_trait;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;
use crate::contestant::Field;
use crate::meter::Meter;
use crate::report::Outcome;

/// A workload of the benchmark.
#[async_trait(?Send)]
pub(crate) trait Workload: Send + Sync {
    fn name(&self) -> String;
    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError>;
}

/// The servers, and the options of this run.
#[derive(Debug)]
pub(crate) struct Environment<'a> {
    pub(crate) server: &'a RedisServer,
    pub(crate) meter: &'a Meter,
    pub(crate) field: &'a Field,
    pub(crate) quick: bool,
}
