use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{Environment, Workload};
use crate::BoxError;
use crate::clock;
use crate::contention::{METRICS, Rush, Tally};
use crate::contestant::Way;
use crate::report::Outcome;
use crate::turns::{Done, Plan};
use crate::workers::Workers;

/// The time until an order has reached all processes.
pub(super) const HEAD_START: Duration = Duration::from_millis(30);

/// The contestants in workloads that do not include all: the limit, the library, one that polls at random times and one
/// that polls regularly.
const SOME: &[Way] = &[Way::Scripts, Way::Leasehold, Way::Rslock, Way::Distkit];

/// Tasks that acquire one key all the time, in one process or in several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contended {
    tasks: u32,
    section_ms: u64,
    processes: u32,
}

pub(crate) fn name(tasks: u32, section_ms: u64, processes: u32) -> String {
    let processes = match processes {
        1 => "1 process".to_owned(),
        many => format!("{many} processes"),
    };
    format!("one key, {tasks} tasks, {section_ms} ms, {processes}")
}

const fn cell(tasks: u32, section_ms: u64, processes: u32) -> Contended {
    Contended {
        tasks,
        section_ms,
        processes,
    }
}

impl Contended {
    /// Two tasks run in at most two processes.
    pub(crate) const ALL: &[Self] = &[
        cell(2, 0, 1),
        cell(2, 1, 1),
        cell(2, 10, 1),
        cell(8, 0, 1),
        cell(8, 1, 1),
        cell(8, 10, 1),
        cell(64, 0, 1),
        cell(64, 1, 1),
        cell(64, 10, 1),
        cell(2, 0, 2),
        cell(2, 1, 2),
        cell(2, 10, 2),
        cell(8, 0, 4),
        cell(8, 1, 4),
        cell(8, 10, 4),
        cell(64, 0, 4),
        cell(64, 1, 4),
        cell(64, 10, 4),
    ];

    /// Workloads with requirements are measured with all contestants, and for longer.
    fn is_main(&self) -> bool {
        self.tasks == 8 && self.section_ms == 0
    }

    fn ways(&self) -> &'static [Way] {
        match (self.is_main(), self.processes) {
            (true, 1) => Way::CROWD_AT_HOME,
            (true, _) => Way::CROWD,
            (false, _) => SOME,
        }
    }

    fn times(&self, quick: bool) -> (usize, Duration) {
        let (rounds, millis) = match (self.is_main(), self.section_ms, quick) {
            (true, _, false) => (5, 1_000),
            (true, _, true) => (3, 350),
            (false, 10, false) => (2, 1_500),
            (false, 10, true) => (1, 700),
            (false, _, false) => (3, 500),
            (false, _, true) => (1, 300),
        };
        (rounds, Duration::from_millis(millis))
    }
}

#[async_trait(?Send)]
impl Workload for Contended {
    fn name(&self) -> String {
        name(self.tasks, self.section_ms, self.processes)
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (rounds, slice) = self.times(environment.quick);
        let (ways, name) = (self.ways(), self.name());
        let plan = Plan {
            workload: &name,
            metrics: METRICS,
            rounds,
        };
        let rush = || Rush {
            key: format!("contended:{}", Uuid::new_v4()),
            tasks: self.tasks,
            first: 0,
            begin: clock::now() + HEAD_START,
            slice,
            section: Duration::from_millis(self.section_ms),
        };
        let done = |tally: Tally, elsewhere| Done {
            grants: tally.grants(),
            values: tally.values(slice),
            elsewhere,
        };
        if self.processes == 1 {
            let entrants = environment.field.enter(ways).await?;
            let run = async |at: usize| {
                let mut tally = Tally::default();
                tally.add(entrants[at].receive(&rush()).await?);
                Ok(done(tally, None))
            };
            return plan.take_metered_turns(environment.meter, ways, run).await;
        }
        let mut fleets = Vec::new();
        for &way in ways {
            let workers = Workers::start(way, environment.field, self.processes).await?;
            fleets.push(Mutex::new(workers));
        }
        let run = async |at: usize| {
            let (tally, cpu) = fleets[at].lock().await.rush(&rush()).await?;
            Ok(done(tally, Some(cpu)))
        };
        plan.take_metered_turns(environment.meter, ways, run).await
    }
}
