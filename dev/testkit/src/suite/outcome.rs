//! The outcome of a step.

use std::time::Duration;

/// The outcome of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The name of the step.
    pub name: String,
    /// The duration of the step.
    pub took: Duration,
    /// The number of passed tests. A step without tests counts as one.
    pub passed: u64,
    /// The number of failed tests.
    pub failed: u64,
    /// Notes that are always shown.
    pub notes: Vec<String>,
    /// The reasons for its failure.
    pub faults: Vec<String>,
    /// The output of its command, unless it was echoed.
    pub output: Vec<String>,
}

impl Outcome {
    /// Returns whether the step succeeded.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed == 0
    }

    /// Returns the outcome of a step that counts as one test.
    pub(super) fn of_single(notes: Vec<String>, faults: Vec<String>, output: Vec<String>) -> Self {
        let good = faults.is_empty();
        Self {
            passed: u64::from(good),
            failed: u64::from(!good),
            notes,
            faults,
            output,
            ..Self::default()
        }
    }
}
