//! The worlds that are explored.

mod free;
mod prompt;

use crate::setup::Setup;
use crate::weakening::Weakening;

/// All setups: first those in which everything takes as long as it likes, then the prompt ones.
#[must_use]
pub fn setups() -> Vec<Setup> {
    free::SETUPS.iter().chain(prompt::SETUPS).copied().collect()
}

/// The setup of that name.
#[must_use]
pub fn setup(name: &str) -> Option<Setup> {
    setups().into_iter().find(|it| it.name == name)
}

/// The world that shows what a rule is for, without the rule.
#[must_use]
pub fn weakened(weakening: Weakening) -> Option<Setup> {
    let mut setup = setup(weakening.shown_in())?;
    setup.weakening = Some(weakening);
    // A trace in which the names change is hard to read.
    setup.anonymous = false;
    Some(setup)
}
