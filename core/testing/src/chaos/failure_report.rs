//! The report of a run that failed.

use std::error::Error;
use std::fmt;

use super::fault_case::Case;
use super::one_run::Log;

/// The environment variable with the run to replay.
pub(super) const REPLAY: &str = "LEASEHOLD_CHAOS";

/// The name of the run without faults.
pub(super) const CALM: &str = "calm";

/// The number of events in a report.
const SHOWN: usize = 100;

/// A run that failed: the fault, the point where it happened, the line for a replay, and the history.
///
/// The report is the same in each process and on each machine, if the body behaves the same.
#[derive(Debug, Clone)]
pub struct Failure {
    reason: String,
    run: Option<(u64, Option<Case>)>,
    point: Option<String>,
    history: Vec<String>,
}

impl Failure {
    pub(super) fn new(reason: String, seed: u64, case: Option<Case>, log: Log) -> Self {
        Self {
            reason,
            run: Some((seed, case)),
            point: log.fault_at,
            history: log.history,
        }
    }

    pub(super) fn not_a_run(text: &str) -> Self {
        let reason = format!(
            "{REPLAY}={text} does not name a run of this test: copy the value from its report, such as 0/1.await3.paused"
        );
        Self {
            reason,
            run: None,
            point: None,
            history: Vec::new(),
        }
    }

    /// Returns why the run failed, such as the message of the failed assertion.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the value of the environment variable `LEASEHOLD_CHAOS` that repeats the run.
    #[must_use]
    pub fn replay(&self) -> Option<String> {
        let (seed, case) = self.run?;
        let case = case.map_or_else(|| CALM.to_owned(), |case| case.to_string());
        Some(format!("{seed}/{case}"))
    }

    /// Returns the events of the run, in order, with the time of the paused clock.
    #[must_use]
    pub fn history(&self) -> &[String] {
        &self.history
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((seed, case)) = self.run else {
            return f.write_str(&self.reason);
        };
        writeln!(f, "a run failed: {}", self.reason)?;
        match (case, &self.point) {
            (Some(case), Some(point)) => {
                writeln!(f, "  fault:  {}", case.fault.description())?;
                writeln!(f, "  point:  {point}")?;
            }
            (Some(case), None) => writeln!(f, "  fault:  {case}, whose point was not reached")?,
            (None, _) => writeln!(f, "  fault:  none")?,
        }
        writeln!(f, "  seed:   {seed}")?;
        let test = std::thread::current();
        let test = test.name().filter(|it| *it != "main");
        let (replay, test) = (self.replay().unwrap_or_default(), test.unwrap_or_default());
        writeln!(f, "  replay: {REPLAY}={replay} cargo test {test}")?;
        writeln!(f, "  history:")?;
        let earlier = self.history.len().saturating_sub(SHOWN);
        if earlier > 0 {
            writeln!(f, "    ({earlier} earlier events)")?;
        }
        for line in &self.history[earlier..] {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl Error for Failure {}
