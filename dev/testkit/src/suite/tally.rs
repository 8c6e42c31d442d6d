//! Adds up the results of tests.

use super::{Counts, Outcome, Ran};

/// The sum of the results of tests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Counts,
    faults: Vec<String>,
}

impl Tally {
    /// Adds a command that ran tests. `shown` is its name, and `within` is the prefix of the names of its tests.
    pub(super) fn add(&mut self, shown: &str, within: &str, ran: &Ran) {
        let mut counts = Counts::of_lines(ran.lines.iter().map(String::as_str));
        if let Some(why) = &ran.failure {
            self.faults.push(format!("{shown} failed: {why}"));
            // A failure without a failed test, such as a compile error, counts as one failed test.
            counts.failed = counts.failed.max(1);
        }
        let failed_tests = ran.lines.iter().filter_map(|it| Counts::failed_test(it));
        let faults = failed_tests.map(|name| format!("failed: {within}{name}"));
        self.faults.extend(faults);
        self.counts += counts;
    }

    /// Adds a failure that no test reports.
    pub(super) fn fail(&mut self, fault: String) {
        self.faults.push(fault);
        self.counts.failed += 1;
    }

    /// Returns the outcome of a step that ran all of these.
    pub(super) fn outcome(mut self) -> Outcome {
        let counts = self.counts;
        if counts.ignored > 0 {
            self.faults.push(format!(
                "{} tests are ignored: nothing is skipped silently, so make them run or delete them",
                counts.ignored
            ));
        }
        if counts.total() == 0 {
            self.fail("not one test ran".to_owned());
        }
        let failed = self.counts.failed + counts.ignored;
        Outcome {
            passed: counts.passed,
            failed,
            notes: vec![format!("{} passed, {failed} failed", counts.passed)],
            faults: self.faults,
            ..Outcome::default()
        }
    }
}
