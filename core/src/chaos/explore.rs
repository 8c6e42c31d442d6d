//! All runs of one test: first without a fault, then one run for each fault at each point.

use std::time::{Duration, Instant};

use super::Chaos;
use super::case::{Case, Point};
use super::failure::Failure;
use super::outside_work::OutsideWork;
use super::run::{Ended, execute};
use crate::clock::machine_time;

/// The environment variable with the run to replay.
pub(super) const REPLAY: &str = "LEASEHOLD_CHAOS";

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
    /// not name a run.
    pub fn check(self, body: impl AsyncFn(Chaos)) -> Result<Summary, Failure> {
        let replay = std::env::var(REPLAY).ok();
        let outside = OutsideWork::new();
        let _current = tracing::dispatcher::set_default(&outside.dispatcher());
        let run = |seed, case| execute(&body, seed, case, &outside);
        match replay {
            Some(text) => {
                let (seed, case) = parse(&text).ok_or_else(|| Failure::not_a_run(&text))?;
                let Ended { log, failure } = run(seed, case);
                match failure {
                    Some(reason) => Err(Failure::new(reason, seed, case, log)),
                    None => {
                        let summary = Summary {
                            runs: 1,
                            cases: 1,
                            unreached: usize::from(case.is_some() && log.fault_at.is_none()),
                        };
                        say(&format!("replayed {text}\n{}", log.history.join("\n")));
                        Ok(summary)
                    }
                }
            }
            None => self.explore(run),
        }
    }

    fn explore(self, run: impl Fn(u64, Option<Case>) -> Ended) -> Result<Summary, Failure> {
        let begin = machine_time();
        let since = |now: Instant| now.saturating_duration_since(begin);
        let Ended { log, failure } = run(self.seed, None);
        if let Some(reason) = failure {
            return Err(Failure::new(reason, self.seed, None, log));
        }
        let mut cases: Vec<_> = log.points.into_iter().flat_map(Point::cases).collect();
        // The order is random, so that a limit does not always skip the same points.
        fastrand::Rng::with_seed(self.seed).shuffle(&mut cases);
        let mut summary = Summary {
            runs: 1,
            cases: cases.len(),
            unreached: 0,
        };
        let mut next_line = PROGRESS;
        for case in cases {
            let elapsed = since(machine_time());
            if summary.runs >= self.max_runs || elapsed >= self.time_limit {
                break;
            }
            if elapsed >= next_line {
                say(&summary.progress(elapsed));
                next_line = elapsed + PROGRESS;
            }
            let Ended { log, failure } = run(self.seed, Some(case));
            if let Some(reason) = failure {
                return Err(Failure::new(reason, self.seed, Some(case), log));
            }
            summary.runs += 1;
            summary.unreached += usize::from(log.fault_at.is_none());
        }
        say(&summary.progress(since(machine_time())));
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

/// Parses a seed and a case, such as `0/1.await3.paused`. `0/calm` is the run without faults.
fn parse(text: &str) -> Option<(u64, Option<Case>)> {
    let (seed, case) = text.split_once('/')?;
    let case = match case {
        "calm" => None,
        case => Some(case.parse().ok()?),
    };
    Some((seed.parse().ok()?, case))
}

/// Writes a line to the output of the test, which the test harness captures.
#[allow(clippy::print_stderr, reason = "the output of a test")]
fn say(line: &str) {
    eprintln!("chaos: {line}");
}
