//! All runs of one test: first without a fault, then one run for each fault at each point.

use std::time::Duration;

use super::execute_run::execute;
use super::failure_report::{CALM, Failure, REPLAY};
use super::test_body_handle::Chaos;
use super::work_on_other_threads::OutsideWork;
use leasehold_core::backend::support::clock::machine_time;

const PROGRESS: Duration = Duration::from_secs(1);

/// The settings of a test, for [`test`](super::test) with other limits.
///
/// # Default
///
/// Seed 0, at most 1000 runs, at most 5 s.
///
/// # Examples
///
/// ```
/// use leasehold::chaos::{Chaos, ChaosTest};
///
/// ChaosTest::new().seed(7).max_runs(200).run(async |chaos: Chaos| {
///     let ends = chaos.clients(2, async |locks| locks.lock("account:71").acquire().await.is_ok());
///     assert_eq!(ends.await.len(), 2);
/// });
/// ```
#[derive(Debug, Clone)]
#[must_use = "the settings do nothing until `run` or `check`"]
pub struct ChaosTest {
    seed: u64,
    max_runs: usize,
    time_limit: Duration,
}

/// The number of runs of a test that found no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of runs, with the run without faults.
    pub runs: usize,
    /// The number of cases: the faults at all points of the run without faults.
    pub cases: usize,
    /// The number of runs that did not reach the point of their fault. If it is not zero, the body does not behave the
    /// same in each run.
    pub unreached: usize,
}

impl Summary {
    /// Returns whether each case was run.
    #[must_use]
    pub fn is_exhaustive(&self) -> bool {
        self.runs == self.cases + 1
    }
}

impl ChaosTest {
    /// Returns the default settings.
    pub fn new() -> Self {
        Self {
            seed: 0,
            max_runs: 1000,
            time_limit: Duration::from_secs(5),
        }
    }

    /// Sets the seed. It selects the cases if there are more than `max_runs`, and their order. It also seeds the
    /// generator of `fastrand` in each run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the largest number of runs.
    pub fn max_runs(mut self, runs: usize) -> Self {
        self.max_runs = runs;
        self
    }

    /// Sets how long all runs together may take, by the clock of the machine. After that, no further run begins.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Runs the test, and panics at the first failure.
    ///
    /// # Panics
    ///
    /// Panics if a run fails, with the report of [`Failure`].
    #[allow(clippy::panic, reason = "a test reports its failure by a panic")]
    pub fn run(self, body: impl AsyncFn(Chaos)) {
        if let Err(failure) = self.check(body) {
            panic!("{failure}");
        }
    }

    /// Runs the test, and returns its first failure.
    ///
    /// # Errors
    ///
    /// Returns [`Failure`] if `body` panics in a run, or if a run does not end within an hour of the paused clock. Also
    /// returns `Failure` if the test is called in a tokio runtime, or if the environment variable `LEASEHOLD_CHAOS` does
    /// not name a run of this test.
    pub fn check(self, body: impl AsyncFn(Chaos)) -> Result<Summary, Failure> {
        let replay = std::env::var(REPLAY).ok();
        let (seed, only) = match &replay {
            Some(text) => {
                let (seed, case) = text.split_once('/').unwrap_or_default();
                let seed = seed.parse().map_err(|_| Failure::not_a_run(text))?;
                (seed, Some(case))
            }
            None => (self.seed, None),
        };
        let outside = OutsideWork::new();
        let _current = tracing::dispatcher::set_default(&outside.dispatcher());
        let run = |case| execute(&body, seed, case, &outside);
        let begin = machine_time();
        let mut log = run(None)?;
        let mut cases: Vec<_> = log.points.iter().flat_map(|it| it.cases()).collect();
        if let Some(only) = only {
            cases.retain(|case| case.to_string() == only);
            if cases.is_empty() && only != CALM {
                return Err(Failure::not_a_run(replay.as_deref().unwrap_or_default()));
            }
        }
        // The order is random, so that a limit does not always skip the same points.
        fastrand::Rng::with_seed(seed).shuffle(&mut cases);
        let mut summary = Summary {
            runs: 1,
            cases: cases.len(),
            unreached: 0,
        };
        let mut next_line = PROGRESS;
        for case in cases {
            let elapsed = machine_time().saturating_duration_since(begin);
            if summary.runs >= self.max_runs || elapsed >= self.time_limit {
                break;
            }
            if elapsed >= next_line {
                say(&summary.progress(elapsed));
                next_line = elapsed + PROGRESS;
            }
            log = run(Some(case))?;
            summary.runs += 1;
            summary.unreached += usize::from(log.fault_at.is_none());
        }
        if replay.is_some() {
            say(&format!("the run passes\n{}", log.history.join("\n")));
        }
        say(&summary.progress(machine_time().saturating_duration_since(begin)));
        Ok(summary)
    }
}

impl Default for ChaosTest {
    fn default() -> Self {
        Self::new()
    }
}

impl Summary {
    fn progress(&self, elapsed: Duration) -> String {
        let (done, cases) = (self.runs - 1, self.cases);
        let mut line = format!("{done} of {cases} faults in {:.1} s", elapsed.as_secs_f64());
        if self.unreached > 0 {
            line += &format!(", {} not reached", self.unreached);
        }
        line
    }
}

/// Writes a line to the output of the test, which the test harness captures.
#[allow(clippy::print_stderr, reason = "the output of a test")]
fn say(line: &str) {
    eprintln!("chaos: {line}");
}
