use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Stage, Workload};
use crate::BoxError;
use crate::contestant::{Contestant, Visitor};
use crate::report::Outcome;
use crate::rounds::{Values, quantile};
use crate::turns::take_turns;

const TASKS: usize = 8;

/// Eight tasks that want one key all the time, and do nothing under it.
///
/// Acquisitions alone say little: a task that takes its own lock again and again has many, and the others wait. What
/// counts is how often the lock changes its owner, and how long the unlucky wait.
#[derive(Debug)]
pub(crate) struct Contended;

/// One slice of it.
#[derive(Debug)]
pub(super) struct Rush {
    pub(super) slice: Duration,
    /// What is done under the lock: nothing but waiting.
    pub(super) section: Duration,
}

/// What a slice tells.
pub(super) const METRICS: &[&str] = &[
    "owner_changes_per_s",
    "acquisitions_per_s",
    "fairness_min_max",
    "wait_p999_ms",
];

/// One acquisition.
#[derive(Debug, Clone, Copy)]
struct Turn {
    task: usize,
    granted: Instant,
    waited: f64,
}

impl Visitor for Rush {
    type Output = Result<Values, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Result<Values, BoxError> {
        // Those that poll leave a key behind when they are cut short, so each slice has one of its own.
        let key = format!("contended:{}", Uuid::new_v4());
        let begin = Instant::now();
        let mut tasks = JoinSet::new();
        let tasks_at_most = if contestant.can_wait() { TASKS } else { 1 };
        let section = self.section;
        for task in 0..tasks_at_most {
            let (contestant, key, end) = (contestant.clone(), key.clone(), begin + self.slice);
            tasks.spawn(async move {
                let mut turns = Vec::new();
                loop {
                    let asked = Instant::now();
                    let held = tokio::time::timeout_at(end.into(), contestant.acquire(&key)).await;
                    let granted = Instant::now();
                    let waited = (granted - asked).as_secs_f64() * 1e3;
                    let turn = Turn {
                        task,
                        granted,
                        waited,
                    };
                    turns.push(turn);
                    match held {
                        Ok(held) => {
                            let held = held?;
                            if !section.is_zero() {
                                tokio::time::sleep(section).await;
                            }
                            contestant.release(held).await?;
                        }
                        // It was not granted, and has waited all the same.
                        Err(_over) => return Ok::<_, BoxError>(turns),
                    }
                }
            });
        }
        let mut turns: Vec<Turn> = Vec::new();
        let mut shares = [0_usize; TASKS];
        let mut waits = Vec::new();
        while let Some(task) = tasks.join_next().await {
            let mut task = task??;
            waits.extend(task.iter().map(|turn| turn.waited));
            task.pop();
            turns.extend(task);
        }
        turns.iter().for_each(|turn| shares[turn.task] += 1);
        turns.sort_by_key(|turn| turn.granted);
        let changes = turns.windows(2).filter(|pair| pair[0].task != pair[1].task);
        let changes = changes.count();
        let shares = &shares[..tasks_at_most];
        let (least, most) = (shares.iter().min(), shares.iter().max());
        let fairness = match (least, most) {
            (Some(least), Some(most)) if *most > 0 => *least as f64 / *most as f64,
            _ => f64::NAN,
        };
        waits.sort_by(f64::total_cmp);
        let seconds = self.slice.as_secs_f64();
        Ok(vec![
            changes as f64 / seconds,
            turns.len() as f64 / seconds,
            fairness,
            quantile(&waits, 0.999),
        ])
    }
}

#[async_trait(?Send)]
impl Workload for Contended {
    fn name(&self) -> &'static str {
        "one key, 8 tasks"
    }

    async fn run(&self, stage: &Stage<'_>) -> Result<Outcome, BoxError> {
        let (rounds, millis) = if stage.quick { (3, 350) } else { (10, 2_000) };
        let slice = Duration::from_millis(millis);
        let section = Duration::ZERO;
        let rush = Rush { slice, section };
        let entrants = stage.field.peers().await?;
        take_turns(self.name(), METRICS, &entrants, rounds, &rush).await
    }
}
