//! How a step went.

use std::time::Duration;

/// How a step went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The step's name.
    pub name: String,
    /// How long it took.
    pub took: Duration,
    /// What counts as passed: a step without tests is one.
    pub passed: u64,
    /// What counts as failed.
    pub failed: u64,
    /// What there is to say about it in any case.
    pub notes: Vec<String>,
    /// Why it failed.
    pub faults: Vec<String>,
    /// What its command printed, unless that was echoed.
    pub output: Vec<String>,
}

impl Outcome {
    /// Whether the step went well.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed == 0
    }

    /// That of a step which counts as one.
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
