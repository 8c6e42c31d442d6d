use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{Stage, Workload};
use crate::BoxError;
use crate::contestant::{Contestant, Visitor};
use crate::report::Outcome;
use crate::rounds::{Values, quantile};
use crate::turns::take_turns;

const SLICE: Duration = Duration::from_millis(60);

/// What a slice tells.
pub(super) const METRICS: &[&str] = &["pairs_per_s", "p50_us", "p99_us"];

/// Tasks that acquire and release, each a key of its own.
#[derive(Debug)]
pub(crate) struct Uncontended {
    pub(super) name: &'static str,
    pub(super) tasks: usize,
}

impl Uncontended {
    pub(crate) const ONE: Self = Self {
        name: "uncontended, 1 task",
        tasks: 1,
    };
    pub(crate) const MANY: Self = Self {
        name: "uncontended, 64 tasks",
        tasks: 64,
    };
}

impl Visitor for Uncontended {
    type Output = Result<Values, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Result<Values, BoxError> {
        let begin = Instant::now();
        let mut tasks = JoinSet::new();
        for task in 0..self.tasks {
            tasks.spawn(pairs(contestant.clone(), format!("key:{task}"), begin));
        }
        let mut took = Vec::new();
        while let Some(task) = tasks.join_next().await {
            took.extend(task??);
        }
        let per_second = took.len() as f64 / begin.elapsed().as_secs_f64();
        took.sort_by(f64::total_cmp);
        Ok(vec![
            per_second,
            quantile(&took, 0.5),
            quantile(&took, 0.99),
        ])
    }
}

/// How many microseconds each pair took.
async fn pairs<C: Contestant>(
    contestant: C,
    key: String,
    begin: Instant,
) -> Result<Vec<f64>, BoxError> {
    let mut took = Vec::new();
    while begin.elapsed() < SLICE {
        let asked = Instant::now();
        let held = contestant.acquire(&key).await?;
        contestant.release(held).await?;
        took.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}

#[async_trait(?Send)]
impl Workload for Uncontended {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let rounds = if stage.quick { 20 } else { 200 };
        let entrants = stage.field.limits().await?;
        take_turns(self.name, METRICS, &entrants, rounds, self).await
    }
}
