use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::contended::HEAD_START;
use super::{Environment, Workload, contended};
use crate::BoxError;
use crate::clock;
use crate::contention::Rush;
use crate::contestant::Way;
use crate::report::Outcome;
use crate::turns::Plan;
use crate::workers::Workers;

const TASKS: u32 = 8;

/// The same tasks as in [`contended`]. Counts how often a lock is granted by the server, and how often by a direct
/// hand-off from the previous task.
///
/// Measures only the library, because other contestants do not have both. The counting processes are slower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passes {
    pub(crate) processes: u32,
}

#[async_trait(?Send)]
impl Workload for Passes {
    fn name(&self) -> String {
        let name = contended::name(TASKS, 0, self.processes);
        format!("{name}: from whom")
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (rounds, millis) = if environment.quick {
            (3, 350)
        } else {
            (5, 1_000)
        };
        let (slice, name) = (Duration::from_millis(millis), self.name());
        let plan = Plan {
            workload: &name,
            metrics: &["server_grants_per_s", "passed_on_per_s", "grants_per_s"],
            rounds,
        };
        let way = Way::Leasehold;
        let workers = Workers::start_counted(way, environment.field, self.processes).await?;
        let workers = Mutex::new(workers);
        let run = async |_only| {
            let mut workers = workers.lock().await;
            let before = workers.passes().await?;
            let rush = Rush {
                key: format!("passes:{}", Uuid::new_v4()),
                tasks: TASKS,
                first: 0,
                begin: clock::now() + HEAD_START,
                slice,
                section: Duration::ZERO,
            };
            let (tally, _cpu) = workers.rush(&rush).await?;
            let passed = (workers.passes().await? - before) as f64;
            let all = tally.grants() as f64;
            let each = |count: f64| count / slice.as_secs_f64();
            Ok(vec![each(all - passed), each(passed), each(all)])
        };
        plan.take_turns(&[way.name()], run).await
    }
}
