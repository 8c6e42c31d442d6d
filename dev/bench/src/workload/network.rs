use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::proxy::LatencyProxy;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::contended::HEAD_START;
use super::handoff::HandOff;
use super::uncontended::Pairs;
use super::{Environment, Workload};
use crate::BoxError;
use crate::clock;
use crate::contention::{Rush, Tally};
use crate::contestant::{AnyContestant, Field, Once, Way};
use crate::meter::Meter;
use crate::report::Outcome;
use crate::rounds::Values;
use crate::turns::{Bill, Done, Plan};
use crate::workers::Workers;

/// The delays of each direction, in microseconds.
pub(crate) const DELAYS: &[u64] = &[200, 500, 2_000];

/// The metric of a pair without contention, and of a `PING`.
pub(crate) const PAIR: &str = "p50_us";

/// The metrics of a contended key, in one process and in several.
pub(crate) const INSIDE: Contention = Contention {
    grants: "inside_grants_per_s",
    time: "inside_us_per_grant",
    commands: "inside_commands_per_grant",
};
pub(crate) const BETWEEN: Contention = Contention {
    grants: "between_grants_per_s",
    time: "between_us_per_grant",
    commands: "between_commands_per_grant",
};

const ALONE: &[Way] = &[
    Way::Ping,
    Way::Scripts,
    Way::Leasehold,
    Way::Bare,
    Way::Rslock,
    Way::Distkit,
    Way::Redlock,
    Way::AsyncRedisLock,
    Way::DistributedLockRedis,
];

const WAITERS_INSIDE: &[Way] = &[
    Way::Ping,
    Way::Scripts,
    Way::Leasehold,
    Way::Passing,
    Way::Rslock,
    Way::DistributedLockRedis,
];

const WAITERS: &[Way] = &[
    Way::Ping,
    Way::Scripts,
    Way::Leasehold,
    Way::Rslock,
    Way::DistributedLockRedis,
];

const TASKS: u32 = 8;
const PROCESSES: u32 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Contention {
    pub(crate) grants: &'static str,
    pub(crate) time: &'static str,
    commands: &'static str,
}

/// Contestants behind a network that delays each direction. The first contestant is a `PING`, so the ratios of all times
/// are numbers of round trips. One task without contention; then tasks that want one key, in one process and in several
/// processes; then the hand-off to a waiter.
///
/// Opening a connection is not delayed. The CPU time is not measured, because the proxy runs in this process. The
/// commands of a contended key include those of the waiters that give up at the end of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network {
    /// In microseconds.
    pub(crate) delay: u64,
}

pub(crate) fn name(delay: u64) -> String {
    format!("network, {} ms each way", delay as f64 / 1e3)
}

/// One delay in one run.
#[derive(Debug)]
struct Measurement<'a> {
    workload: String,
    quick: bool,
    field: Field,
    meter: &'a Meter,
    ping: AnyContestant,
    proxy: LatencyProxy,
}

#[async_trait(?Send)]
impl Workload for Network {
    fn name(&self) -> String {
        name(self.delay)
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let delay = Duration::from_micros(self.delay);
        let proxy = LatencyProxy::start(environment.server.port(), delay)?;
        let field = Field {
            redis: environment.server.url_at(proxy.port()),
            ..environment.field.clone()
        };
        let measurement = Measurement {
            workload: self.name(),
            quick: environment.quick,
            ping: Way::Ping.enter(&field).await?,
            field,
            meter: environment.meter,
            proxy,
        };
        measurement.run().await
    }
}

impl Measurement<'_> {
    async fn run(self) -> Result<Outcome, BoxError> {
        let outcome = Outcome::joined(vec![
            self.alone().await?,
            self.inside().await?,
            self.between().await?,
            self.hand_off().await?,
        ]);
        // The proxy runs until here.
        drop(self.proxy);
        Ok(outcome)
    }

    fn plan<'a>(&'a self, metrics: &'a [&'static str], rounds: [usize; 2]) -> Plan<'a> {
        Plan {
            workload: &self.workload,
            metrics,
            rounds: if self.quick { rounds[0] } else { rounds[1] },
        }
    }

    async fn alone(&self) -> Result<Outcome, BoxError> {
        let entrants = self.warm(ALONE).await?;
        let run = async |at: usize| {
            let bill = self.bill(entrants[at].receive(&pairs())).await?;
            let commands = bill.commands(ALONE[at].sends());
            Ok([bill.values(), &[commands]].concat())
        };
        let metrics = ["pairs_per_s", PAIR, "p99_us", "commands_per_pair"];
        self.plan(&metrics, [3, 10])
            .take_turns(&names(ALONE), run)
            .await
    }

    async fn inside(&self) -> Result<Outcome, BoxError> {
        let entrants = self.warm(WAITERS_INSIDE).await?;
        let run = async |at: usize| {
            let slice = async |rush: &Rush| {
                let mut tally = Tally::default();
                tally.add(entrants[at].receive(rush).await?);
                Ok(tally)
            };
            self.contend(WAITERS_INSIDE[at], slice).await
        };
        self.plan(&INSIDE.metrics(), [2, 3])
            .take_turns(&names(WAITERS_INSIDE), run)
            .await
    }

    async fn between(&self) -> Result<Outcome, BoxError> {
        let mut fleets = Vec::new();
        // The first contestant is the `PING`, which runs in this process.
        for &way in &WAITERS[1..] {
            let mut workers = Workers::start(way, &self.field, PROCESSES).await?;
            workers.warm().await?;
            fleets.push(Mutex::new(workers));
        }
        let run = async |at: usize| {
            let slice = async |rush: &Rush| Ok(fleets[at - 1].lock().await.rush(rush).await?.0);
            self.contend(WAITERS[at], slice).await
        };
        self.plan(&BETWEEN.metrics(), [2, 3])
            .take_turns(&names(WAITERS), run)
            .await
    }

    async fn hand_off(&self) -> Result<Outcome, BoxError> {
        let entrants = self.warm(WAITERS).await?;
        let run = async |at: usize| match WAITERS[at] {
            Way::Ping => Ok(vec![self.ping_us().await? / 1e3]),
            _ => Ok(entrants[at].receive(&HandOff::SINGLE).await?.values),
        };
        self.plan(&["hand_off_p50_ms"], [3, 8])
            .take_turns(&names(WAITERS), run)
            .await
    }

    /// Connects the contestants.
    async fn warm(&self, ways: &[Way]) -> Result<Vec<AnyContestant>, BoxError> {
        let entrants = self.field.enter(ways).await?;
        for entrant in &entrants {
            // One of the contestants never releases its lock, so each has its own key.
            let key = format!("warm:{}", Uuid::new_v4());
            entrant.receive(&Once { key }).await?;
        }
        Ok(entrants)
    }

    /// Returns the figures of a slice in which tasks want one key.
    async fn contend(
        &self,
        way: Way,
        slice: impl AsyncFnOnce(&Rush) -> Result<Tally, BoxError>,
    ) -> Result<Values, BoxError> {
        if way == Way::Ping {
            let us = self.ping_us().await?;
            return Ok(vec![1e6 / us, us, 1.0]);
        }
        let rush = Rush {
            key: format!("contended:{}", Uuid::new_v4()),
            tasks: TASKS,
            first: 0,
            begin: clock::now() + HEAD_START,
            slice: Duration::from_millis(if self.quick { 250 } else { 500 }),
            section: Duration::ZERO,
        };
        let run = async {
            Ok(Done {
                grants: slice(&rush).await?.grants(),
                values: Vec::new(),
                elsewhere: None,
            })
        };
        let bill = self.bill(run).await?;
        let per_second = bill.grants() as f64 / rush.slice.as_secs_f64();
        let commands = bill.commands(way.sends());
        Ok(vec![per_second, 1e6 / per_second, commands])
    }

    async fn ping_us(&self) -> Result<f64, BoxError> {
        Ok(self.ping.receive(&pairs()).await?.values[1])
    }

    async fn bill(
        &self,
        slice: impl Future<Output = Result<Done, BoxError>>,
    ) -> Result<Bill, BoxError> {
        Bill::of(std::slice::from_ref(self.meter), Box::pin(slice)).await
    }
}

impl Contention {
    fn metrics(&self) -> [&'static str; 3] {
        [self.grants, self.time, self.commands]
    }
}

fn pairs() -> Pairs {
    Pairs {
        tasks: 1,
        slice: Duration::from_millis(80),
        keys: 1,
    }
}

fn names(ways: &[Way]) -> Vec<&'static str> {
    ways.iter().map(|way| way.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_workload_contains_its_delay_in_milliseconds() {
        let names = [200, 500, 2_000].map(name);
        assert_eq!(names[0], "network, 0.2 ms each way");
        assert_eq!(names[2], "network, 2 ms each way");
    }
}
