//! Runs a cell.

use std::time::{Duration, Instant};

use leasehold_testkit::history::{Moment, Violation};
use tokio::time::sleep;

use super::observed::Observed;
use super::place::Cell;
use super::verdict::Verdict;
use crate::BoxError;
use crate::data::Links;
use crate::deployment::{Deployment, Kind};
use crate::fault::Fault;
use crate::worker::Orders;
use crate::workers::Workers;

/// The number of processes, if the locks are at servers.
const PROCESSES: usize = 3;

/// A cell runs for up to this many times its duration if a control has not lost a write yet.
const LUCKY: u32 = 300;

/// The time until a process writes again. A dead waiter in the queue may block it for some seconds.
const PATIENCE: Duration = Duration::from_secs(400);

impl Cell {
    /// Runs the cell. `prepare` is locked while tables are created.
    ///
    /// # Errors
    ///
    /// Returns an error if the cell cannot be completed.
    pub async fn run(
        &self,
        deployment: &dyn Deployment,
        links: &Links,
        prepare: &tokio::sync::Mutex<()>,
    ) -> Result<Verdict, BoxError> {
        let turn = prepare.lock().await;
        let observed = Observed::prepare(self.number, &links.direct).await?;
        drop(turn);
        let (processes, tasks) = match self.kind {
            Kind::InProcess => (1, PROCESSES),
            _ => (PROCESSES, 1),
        };
        let mut orders = Orders::new(deployment.locks(), self.number, tasks, &links.linked);
        orders.polls = self.kind.polls(self.fault);
        let begun = Moment::now();
        let mut workers = Workers::start(orders, processes, self.fault).await?;
        let mut wrong = works(&observed, &workers, begun).await?;
        let begin = Instant::now();
        let mut chance = fastrand::Rng::with_seed(self.seed);
        let mut strikes = 0;
        loop {
            if self.fault != Fault::Calm {
                self.strike(deployment, links, &mut workers, &mut chance)
                    .await?;
                strikes += 1;
            }
            sleep(Duration::from_millis(chance.u64(200..500))).await;
            if begin.elapsed() < self.time {
                continue;
            }
            let lucky = self.kind.control_loses(self.fault)
                && begin.elapsed() < self.time * LUCKY
                && !observed.control_has_lost(&workers.changes()?).await?;
            if !lucky {
                break;
            }
        }
        wrong.extend(works(&observed, &workers, Moment::now()).await?);
        wrong.extend(workers.stop().await?);
        let holds = workers.holds()?;
        let tokens = [holds.tokens_unique(), holds.tokens_strictly_increase()].concat();
        Ok(Verdict {
            cell: self.clone(),
            strikes,
            took: begin.elapsed(),
            holds: holds.holds().len(),
            overlaps: shown(&holds.exclusion()),
            tokens: shown(&tokens),
            wrong,
            stores: observed.judge(&workers.changes()?).await?,
        })
    }

    async fn strike(
        &self,
        deployment: &dyn Deployment,
        links: &Links,
        workers: &mut Workers,
        chance: &mut fastrand::Rng,
    ) -> Result<(), BoxError> {
        match self.fault {
            Fault::Calm => Ok(()),
            Fault::ClientPause | Fault::ClientKill | Fault::ClientClock | Fault::ForceOpen => {
                workers.strike(self.fault, chance).await
            }
            Fault::DataCut => {
                links.cut();
                Ok(())
            }
            _ => deployment.strike(self.fault, chance).await,
        }
    }
}

/// Waits until all kinds of data have been written since a moment. Returns the kinds that have not.
async fn works(
    observed: &Observed,
    workers: &Workers,
    since: Moment,
) -> Result<Vec<String>, BoxError> {
    let begin = Instant::now();
    loop {
        let idle = observed.idle_since(since, &workers.changes()?);
        if idle.is_empty() || begin.elapsed() > PATIENCE {
            let told = |kind: &&str| format!("{kind}: nobody has written for {PATIENCE:?}");
            return Ok(idle.iter().map(told).collect());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

fn shown(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}
