use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::environment::Environment;
use super::faults::{self, LONG};
use super::holders::Holders;
use super::load::{Load, Until};
use super::plan::{Extent, Plan};
use super::resources::{self, Resources};
use super::tally::{Counts, Tally};
use super::verdict::judge;
use crate::BoxError;

/// The maximum time until no task holds or waits: the longest lease and a reserve.
const AT_REST: Duration = Duration::from_secs(30);

/// The time until the last tombstone of a cancelled acquisition has expired.
const SEALS_LAST: Duration = Duration::from_secs(75);

/// The report of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The counters of the run.
    pub counts: Counts,
    /// The duration of the load.
    pub took: Duration,
    /// The resources after the first tenth.
    pub first: Resources,
    /// The resources at the end.
    pub last: Resources,
    /// The resources after the managers were shut down and dropped.
    pub gone: Resources,
    /// The failures.
    pub faults: Vec<String>,
}

/// Executes the plan on its own server. Calls `say` with the progress.
///
/// # Errors
///
/// Returns an error if the server cannot be started or queried.
pub async fn run(plan: &Plan, mut say: impl FnMut(&str)) -> Result<Report, BoxError> {
    let environment = Environment::build().await?;
    let tally = Arc::new(Tally::default());
    let mut took = Duration::ZERO;
    let mut phases: Vec<Resources> = Vec::new();
    for extent in plan.extent.split() {
        took += phase(plan, extent, &environment, &tally, &mut say).await?;
        reconnect(&environment).await?;
        let before = phases.last().cloned();
        let patience = if plan.outwait_seals {
            SEALS_LAST
        } else {
            AT_REST
        };
        let begun = tally.counts().begun;
        let rest = resources::take(&environment.server, begun, patience, |it| {
            (it.keys.seals == 0 || !plan.outwait_seals)
                && before
                    .as_ref()
                    .is_none_or(|before| it.is_as_small_as(before))
        });
        let rest = rest.await?;
        say(&format!("at rest after {begun}: {rest}"));
        phases.push(rest);
    }
    let counts = tally.counts();
    let gone = shut_down(environment, counts.begun).await?;
    say(&format!("without managers: {gone}"));
    let [first, last] = phases
        .try_into()
        .map_err(|_| "a soak has two moments of rest")?;
    let mut faults = judge(&first, &last, &counts);
    if gone.connections > 0 {
        faults.push(format!(
            "{} connections outlived the managers",
            gone.connections
        ));
    }
    Ok(Report {
        counts,
        took,
        first,
        last,
        gone,
        faults,
    })
}

/// Makes each manager send a request, because a cut connection is only reopened for a request.
async fn reconnect(environment: &Environment) -> Result<(), BoxError> {
    let begun = Instant::now();
    for locks in &environment.managers {
        while let Err(error) = locks.inspect("at rest").await {
            if begun.elapsed() > AT_REST {
                return Err(error.into());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

async fn shut_down(environment: Environment, begun: u64) -> Result<Resources, BoxError> {
    let Environment {
        server, managers, ..
    } = environment;
    for locks in managers {
        locks.shutdown().await?;
    }
    resources::take(&server, begun, AT_REST, |it| it.connections == 0).await
}

/// Runs one part of the load to its end.
async fn phase(
    plan: &Plan,
    extent: Extent,
    environment: &Environment,
    tally: &Arc<Tally>,
    say: &mut impl FnMut(&str),
) -> Result<Duration, BoxError> {
    let begin = Instant::now();
    let until = match extent {
        Extent::Acquisitions(number) => Until::Begun(tally.counts().begun + number),
        Extent::Time(time) => Until::Past(begin + time),
    };
    let mut tasks = load(plan, until, environment, tally);
    let chance = Rng::with_seed(plan.seed);
    let disturbing = faults::faults(
        &environment.server,
        &environment.proxy,
        plan.faults_every,
        tally,
        chance,
    );
    let (mut disturbing, mut watch) = (
        Box::pin(disturbing),
        Box::pin(watch(plan, environment, tally, say)),
    );
    // Poll all three futures. If one of them waits for a paused server, another one must still resume it.
    loop {
        tokio::select! {
            task = tasks.join_next() => match task {
                Some(ended) => ended?,
                None => break,
            },
            fault = &mut disturbing => fault?,
            look = &mut watch => look?,
        }
    }
    drop((disturbing, watch));
    // The fault may have been dropped before its end.
    environment.server.resume()?;
    environment.proxy.pass();
    Ok(begin.elapsed())
}

/// Prints the progress without end.
async fn watch(
    plan: &Plan,
    environment: &Environment,
    tally: &Tally,
    say: &mut impl FnMut(&str),
) -> Result<(), BoxError> {
    let mut raw = environment.server.client().await?;
    let (begin, mut was) = (Instant::now(), tally.counts().begun);
    loop {
        sleep(plan.progress_every).await;
        let counts = tally.counts();
        let now = resources::look(&mut raw, counts.begun).await?;
        let rate = (counts.begun - was) as f64 / plan.progress_every.as_secs_f64();
        was = counts.begun;
        say(&line(begin.elapsed(), rate, &counts, &now));
    }
}

fn load(plan: &Plan, until: Until, environment: &Environment, tally: &Arc<Tally>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let holders = Arc::new(Holders::default());
    let mut seeds = Rng::with_seed(plan.seed);
    for locks in &environment.managers {
        let load = Load {
            locks: locks.clone(),
            holders: Arc::clone(&holders),
            tally: Arc::clone(tally),
            cancelled: plan.cancelled,
            until,
        };
        tasks.spawn(load.clone().hold_long(LONG.to_owned()));
        for _ in 0..plan.tasks {
            tasks.spawn(load.clone().run(seeds.fork()));
        }
    }
    tasks
}

fn line(elapsed: Duration, rate: f64, counts: &Counts, now: &Resources) -> String {
    format!(
        "{:>5} s {:>9} begun, {rate:>6.0}/s; {} cancelled, {} timed out, {} failed, {} lost, {} faults; heap {} KiB, resident {} \
         KiB, server {} KiB, connections {}",
        elapsed.as_secs(),
        counts.begun,
        counts.cancelled,
        counts.timed_out,
        counts.failed,
        counts.lost,
        counts.faults,
        now.heap / 1024,
        now.resident / 1024,
        now.server_memory / 1024,
        now.connections,
    )
}
