//! A test run: `cargo xtask test`.
//!
//! Finds the tools, lists the [`steps`], runs them all in order even after a
//! failure, and reports. Test binaries run beside each other. The last line printed is `N passed, M failed` and
//! nothing else; each test counts as one, and so does each step without tests.
//! Nothing is skipped: an ignored test is a failure, and so is a test step
//! which finds no tests.

mod binary;
mod counts;
mod lanes;
mod outcome;
mod perform;
mod progress;
mod readme;
mod run;
pub mod steps;
mod tally;
mod tools;

use std::env;

pub use binary::{Binary, Unreadable, note};
pub use counts::Counts;
pub use outcome::Outcome;
pub use perform::perform;
pub use readme::{NoCommands, commands};
pub use run::{Job, Ran};

use crate::error::Error;
use crate::workspace::Workspace;

/// Runs the steps whose name contains `only`, all of them if it is `None`, and
/// answers whether all went well.
///
/// # Errors
///
/// [`Error::UnknownStep`] if there are none, [`Error::MissingTool`] and
/// [`Error::Metadata`] if there is no way to start.
pub fn run(only: Option<&str>) -> Result<bool, Error> {
    let versions = tools::find()?;
    let workspace = Workspace::read()?;
    // Asked now: the build replaces the file, and then it has no name.
    let own = env::current_exe().map_err(|source| Error::Run {
        command: "cargo xtask note".to_owned(),
        source,
    })?;
    let steps = steps::select(steps::all(&workspace, &own.to_string_lossy()), only)?;
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
