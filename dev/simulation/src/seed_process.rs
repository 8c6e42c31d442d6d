//! A process that runs one seed.

use std::env;
use std::fmt::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::children::{MISTAKE, SHOWN};
use crate::mistakes::Mistake;
use crate::randomness::SEED;
use crate::simulation::simulate;

/// The timeout of a seed by real clocks, because a run that spins does not advance the simulated clocks.
const AT_MOST: Duration = Duration::from_secs(120);

/// Runs the seed of this process, and returns its output and its exit code. Returns `None` if the process was not
/// started for a seed.
#[must_use]
pub fn run_if_child() -> Option<(String, ExitCode)> {
    let seed = env::var(SEED).ok()?.parse().ok()?;
    thread::spawn(|| {
        thread::sleep(AT_MOST);
        std::process::exit(3);
    });
    let mistake = env::var(MISTAKE).ok();
    let mistake = mistake.and_then(|it| Mistake::named(&it));
    let outcome = match simulate(seed, mistake) {
        Ok(outcome) => outcome,
        Err(error) => return Some((format!("it broke off: {error}\n"), ExitCode::FAILURE)),
    };
    let mut said = format!("hash {:016x} {}\n", outcome.hash, outcome.counts);
    for violation in &outcome.violations {
        // Writing to a string cannot fail.
        let _written = writeln!(said, "{violation}");
    }
    if env::var_os(SHOWN).is_some() {
        said.push_str(&outcome.lines);
    }
    let is_good = outcome.violations.is_empty();
    let end = if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    Some((said, end))
}
