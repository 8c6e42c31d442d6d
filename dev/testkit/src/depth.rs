//! How deep the explorations among the tests go.
//!
//! An exploration only gets better with time: random histories, seeds, states of a model, garbled input, kills. In
//! `cargo test`, each has a small fixed budget and fixed random numbers. `cargo xtask explore` sets the two variables, so
//! that it goes deeper, each time with other random numbers.

use std::env;
use std::time::Duration;

/// The environment variable that multiplies the budgets of all explorations.
pub const DEPTH: &str = "LEASEHOLD_DEPTH";

/// The environment variable with the seed of all random numbers.
pub const SEED: &str = "LEASEHOLD_SEED";

/// Returns the budget of an exploration, if `quick` is its budget in `cargo test`.
#[must_use]
pub fn scaled(quick: u64) -> u64 {
    quick * number(DEPTH).unwrap_or(1)
}

/// Returns the duration of an exploration, if `quick` is its duration in `cargo test`, in seconds.
#[must_use]
pub fn seconds(quick: u64) -> Duration {
    Duration::from_secs(scaled(quick))
}

/// Returns whether the explorations go deeper than in `cargo test`.
#[must_use]
pub fn is_deep() -> bool {
    number(DEPTH).is_some()
}

/// Returns the seed of an exploration.
#[must_use]
pub fn seed() -> u64 {
    number(SEED).unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    assert!(number.is_ok(), "{variable} is {text:?}, not a number");
    number.ok()
}
