//! Runs the contestants in turn.

use std::time::Duration;

use crate::BoxError;
use crate::clock;
use crate::contestant::{AnyContestant, Field, Visitor, Way};
use crate::meter::{Meter, Reading};
use crate::progress;
use crate::report::Outcome;
use crate::rounds::{Rounds, Values};

/// The additional metrics of a slice with a meter. The client's time is the CPU time of its processes on all cores,
/// including background work.
const COSTS: &[&str] = &[
    "commands_per_grant",
    "client_us_per_grant",
    "server_us_per_grant",
];

/// The result of one slice.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) values: Values,
    pub(crate) grants: usize,
    /// The CPU time of the clients, if they ran in other processes.
    pub(crate) elsewhere: Option<Duration>,
}

/// The costs of a slice, per grant.
#[derive(Debug)]
pub(crate) struct Bill {
    done: Done,
    client: Duration,
    /// The readings before and after the slice, for each server.
    servers: Vec<(Reading, Reading)>,
}

impl Bill {
    pub(crate) async fn of(
        meters: &[Meter],
        slice: impl Future<Output = Result<Done, BoxError>>,
    ) -> Result<Self, BoxError> {
        let before = read(meters).await?;
        let cpu = clock::cpu();
        let done = slice.await?;
        let here = clock::cpu().saturating_sub(cpu);
        Ok(Self {
            client: done.elsewhere.unwrap_or(here),
            done,
            servers: before.into_iter().zip(read(meters).await?).collect(),
        })
    }

    pub(crate) fn commands(&self, sends: &[&str]) -> f64 {
        self.commands_by_server(sends).sum()
    }

    pub(crate) fn commands_by_server(&self, sends: &[&str]) -> impl Iterator<Item = f64> {
        let grants = self.done.grants as f64;
        let servers = self.servers.iter();
        servers.map(move |(before, after)| (after.calls(sends) - before.calls(sends)) / grants)
    }

    fn client_us(&self) -> f64 {
        self.client.as_secs_f64() * 1e6 / self.done.grants as f64
    }

    fn server_us(&self) -> f64 {
        let servers = self.servers.iter();
        let cpu: f64 = servers
            .map(|(before, after)| after.cpu() - before.cpu())
            .sum();
        cpu * 1e6 / self.done.grants as f64
    }

    /// Returns the CPU time of client and server.
    pub(crate) fn us(&self) -> f64 {
        self.client_us() + self.server_us()
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.done.values
    }

    pub(crate) fn grants(&self) -> usize {
        self.done.grants
    }
}

async fn read(meters: &[Meter]) -> Result<Vec<Reading>, BoxError> {
    let mut readings = Vec::new();
    for meter in meters {
        readings.push(meter.read().await?);
    }
    Ok(readings)
}

/// The plan of a workload.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) workload: &'a str,
    pub(crate) metrics: &'a [&'static str],
    pub(crate) rounds: usize,
}

impl Plan<'_> {
    /// Lets all contestants run one slice after the other, for the planned number of rounds.
    pub(crate) async fn take_turns(
        &self,
        names: &[&'static str],
        run: impl AsyncFn(usize) -> Result<Values, BoxError>,
    ) -> Result<Outcome, BoxError> {
        self.go(self.metrics, names, run).await
    }

    /// Like `take_turns`, and measures the costs.
    pub(crate) async fn take_metered_turns(
        &self,
        meter: &Meter,
        ways: &[Way],
        run: impl AsyncFn(usize) -> Result<Done, BoxError>,
    ) -> Result<Outcome, BoxError> {
        let names: Vec<_> = ways.iter().map(|way| way.name()).collect();
        let metrics = [self.metrics, COSTS].concat();
        let metered = async |at| {
            let slice = Box::pin(run(at));
            let bill = Bill::of(std::slice::from_ref(meter), slice).await?;
            let sends = ways[at].sends();
            let unless_elsewhere = |cost| if sends.is_empty() { f64::NAN } else { cost };
            let costs = [
                unless_elsewhere(bill.commands(sends)),
                bill.client_us(),
                unless_elsewhere(bill.server_us()),
            ];
            Ok([bill.done.values, costs.to_vec()].concat())
        };
        self.go(&metrics, &names, metered).await
    }

    /// Runs each contestant in this process.
    pub(crate) async fn take_turns_here<S>(
        &self,
        (field, meter): (&Field, &Meter),
        ways: &[Way],
        slice: &S,
    ) -> Result<Outcome, BoxError>
    where
        S: Visitor<Output = Result<Done, BoxError>>,
    {
        let entrants = field.enter(ways).await?;
        let run = async |at: usize| entrants[at].receive(slice).await;
        self.take_metered_turns(meter, ways, run).await
    }

    /// Runs contestants on several servers, whose costs are not measured.
    pub(crate) async fn take_turns_with<S>(
        &self,
        entrants: &[(&'static str, AnyContestant)],
        slice: &S,
    ) -> Result<Outcome, BoxError>
    where
        S: Visitor<Output = Result<Done, BoxError>>,
    {
        let names: Vec<_> = entrants.iter().map(|(name, _)| *name).collect();
        let run = async |at: usize| Ok(entrants[at].1.receive(slice).await?.values);
        self.take_turns(&names, run).await
    }

    async fn go(
        &self,
        metrics: &[&'static str],
        names: &[&'static str],
        run: impl AsyncFn(usize) -> Result<Values, BoxError>,
    ) -> Result<Outcome, BoxError> {
        let mut rounds = Rounds::new(metrics, names);
        for round in 0..self.rounds {
            progress::show(self.workload, round, self.rounds);
            for turn in 0..names.len() {
                // Each round starts with another contestant.
                let at = (turn + round) % names.len();
                rounds.slice_begins();
                let values = run(at).await?;
                rounds.slice_ends(at, values);
            }
        }
        progress::show(self.workload, self.rounds, self.rounds);
        Ok(rounds.outcome())
    }
}
