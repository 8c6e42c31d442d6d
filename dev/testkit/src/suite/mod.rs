//! A test run: `cargo xtask test`.
//!
//! The run finds the tools, lists the [`steps`], runs all of them in order even after a failure, and prints a report.
//! Test binaries run concurrently. The last line is exactly `N passed, M failed`. Each test counts as one, and so does
//! each step without tests. An ignored test is a failure, and so is a test step without tests.

mod binary;
mod build;
mod counts;
mod lanes;
mod outcome;
mod perform;
mod progress;
mod readme;
mod run;
mod settings;
pub mod steps;
mod tally;
mod tools;
mod variant;

pub use binary::{Binary, Unreadable, note};
pub use build::build;
pub use counts::Counts;
pub use outcome::Outcome;
pub use perform::perform;
pub use readme::{NoCommands, commands};
pub use run::{Job, Ran};
pub use settings::{ALL as SETTINGS, TOGETHER};
pub use variant::{Package, Variant};
pub(crate) use variant::{redis, sql};

use crate::error::Error;
use crate::workspace::Workspace;

/// Runs the steps whose name contains `only`, or all steps if it is `None`. Returns whether all of them succeeded.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if no step matches, and [`Error::MissingTool`] or [`Error::Metadata`] if the run
/// cannot start.
pub fn run(only: Option<&str>) -> Result<bool, Error> {
    let versions = tools::find()?;
    let workspace = Workspace::read()?;
    let steps = steps::select(steps::all(&workspace, &build::own_path()?), only)?;
    progress::tools(&versions);
    let mut outcomes = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let place = progress::Place {
            number: at + 1,
            of: steps.len(),
        };
        progress::begin(place, step);
        let outcome = perform(step, &workspace, progress::echo);
        progress::end(place, step, &outcome);
        outcomes.push(outcome);
    }
    progress::summary(&outcomes);
    Ok(outcomes.iter().all(Outcome::holds))
}
