use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{Environment, Workload};
use crate::BoxError;
use crate::contestant::{Contestant, Visitor, Way};
use crate::cores::Apart;
use crate::report::Outcome;
use crate::rounds::quantile;
use crate::turns::{Done, Plan};

/// The numbers of tasks.
pub(crate) const TASKS: &[usize] = &[1, 4, 16, 64, 256, 1_000];

/// The numbers of tasks if client and server have separate cores.
pub(crate) const TASKS_APART: &[usize] = &[1, 16, 64];

/// The metrics of a slice.
pub(super) const METRICS: &[&str] = &["pairs_per_s", "p50_us", "p99_us"];

pub(crate) fn name(tasks: usize) -> String {
    match tasks {
        1 => "uncontended, 1 task".to_owned(),
        _ => format!("uncontended, {tasks} tasks"),
    }
}

/// Returns the name of the workload with one core for the server and the other cores for the client.
pub(crate) fn name_apart(tasks: usize) -> String {
    format!("{}, a core each", name(tasks))
}

/// Tasks that acquire and release, each with its own key.
#[derive(Debug)]
pub(crate) struct Uncontended {
    pub(crate) tasks: usize,
    /// Whether client and server run on separate cores.
    pub(crate) is_apart: bool,
}

/// A slice of this workload.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) tasks: usize,
    pub(super) slice: Duration,
    /// The number of keys from which each task chooses randomly.
    pub(super) keys: usize,
}

impl Visitor for Pairs {
    type Output = Result<Done, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Result<Done, BoxError> {
        let begin = Instant::now();
        let mut tasks = JoinSet::new();
        for task in 0..self.tasks {
            let (contestant, end, keys) = (contestant.clone(), begin + self.slice, self.keys);
            tasks.spawn(pairs(contestant, task, keys, end));
        }
        let mut took = Vec::new();
        while let Some(task) = tasks.join_next().await {
            took.extend(task??);
        }
        let per_second = took.len() as f64 / begin.elapsed().as_secs_f64();
        took.sort_by(f64::total_cmp);
        Ok(Done {
            grants: took.len(),
            values: vec![per_second, quantile(&took, 0.5), quantile(&took, 0.99)],
            elsewhere: None,
        })
    }
}

/// Returns the duration of each pair in microseconds.
async fn pairs<C: Contestant>(
    contestant: C,
    task: usize,
    keys: usize,
    end: Instant,
) -> Result<Vec<f64>, BoxError> {
    let mut took = Vec::new();
    while Instant::now() < end {
        let key = format!("key:{}", task * keys + fastrand::usize(0..keys));
        let asked = Instant::now();
        let held = contestant.acquire(&key).await?;
        contestant.release(held).await?;
        took.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}

#[async_trait(?Send)]
impl Workload for Uncontended {
    fn name(&self) -> String {
        if self.is_apart {
            name_apart(self.tasks)
        } else {
            name(self.tasks)
        }
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (ways, rounds) = match (self.tasks, environment.quick) {
            _ if self.is_apart && environment.quick => (Way::LIMITS, 8),
            _ if self.is_apart => (Way::LIMITS, 40),
            (1 | 64, false) => (Way::ALONE, 40),
            (1 | 64, true) => (Way::ALONE, 8),
            (1_000, false) => (Way::ALONE, 10),
            (1_000, true) => (Way::ALONE, 3),
            (_, false) => (Way::LIMITS, 20),
            (_, true) => (Way::LIMITS, 5),
        };
        // Long enough that each of many tasks runs several times.
        let millis = if self.tasks < 256 { 60 } else { 200 };
        let plan = Plan {
            workload: &self.name(),
            metrics: METRICS,
            rounds,
        };
        let slice = Pairs {
            tasks: self.tasks,
            slice: Duration::from_millis(millis),
            keys: 1,
        };
        let here = (environment.field, environment.meter);
        if !self.is_apart {
            return plan.take_turns_here(here, ways, &slice).await;
        }
        let Some(apart) = Apart::begin(environment.server.pid())? else {
            eprintln!("{}: it takes two cores", self.name());
            return Ok(Outcome::none());
        };
        apart.run(async || plan.take_turns_here(here, ways, &slice).await)
    }
}
