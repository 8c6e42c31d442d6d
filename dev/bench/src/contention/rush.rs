use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout_at};

use super::Turn;
use crate::BoxError;
use crate::clock;
use crate::contestant::{Contestant, Visitor};

/// A slice, or the part of a slice that runs in this process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rush {
    /// Each slice has its own key, because some contestants leave a key behind when they are interrupted.
    pub(crate) key: String,
    pub(crate) tasks: u32,
    /// The number of the first task.
    pub(crate) first: u32,
    /// On the clock that all processes share.
    pub(crate) begin: Duration,
    pub(crate) slice: Duration,
    /// How long the lock is held. The task only sleeps meanwhile.
    pub(crate) section: Duration,
}

impl Visitor for Rush {
    type Output = Result<Vec<Turn>, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Self::Output {
        let begin = Instant::now() + self.begin.saturating_sub(clock::now());
        let mut tasks = JoinSet::new();
        let at_most = if contestant.can_wait() { self.tasks } else { 1 };
        for task in self.first..self.first + at_most {
            let (contestant, rush) = (contestant.clone(), self.clone());
            tasks.spawn(async move {
                sleep_until(begin.into()).await;
                rush.run(&contestant, task, begin + rush.slice).await
            });
        }
        let mut turns = Vec::new();
        while let Some(task) = tasks.join_next().await {
            turns.extend(task??);
        }
        Ok(turns)
    }
}

impl Rush {
    async fn run<C: Contestant>(
        &self,
        contestant: &C,
        task: u32,
        end: Instant,
    ) -> Result<Vec<Turn>, BoxError> {
        let mut turns = Vec::new();
        loop {
            let asked = clock::now();
            let held = timeout_at(end.into(), contestant.acquire(&self.key)).await;
            let granted = clock::now();
            turns.push(Turn {
                task,
                granted,
                waited: granted - asked,
                // A task that did not get the lock has waited, too.
                served: held.is_ok(),
            });
            let Ok(held) = held else {
                return Ok(turns);
            };
            let held = held?;
            if !self.section.is_zero() {
                sleep(self.section).await;
            }
            contestant.release(held).await?;
        }
    }
}
