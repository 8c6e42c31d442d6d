//! The explored worlds.

mod free;
mod prompt;

use crate::setup::Setup;
use crate::weakening::Weakening;

/// Returns all setups: first those without time limits, then those with fast messages.
#[must_use]
pub fn setups() -> Vec<Setup> {
    free::SETUPS.iter().chain(prompt::SETUPS).copied().collect()
}

/// Returns the setup with this name.
#[must_use]
pub fn setup(name: &str) -> Option<Setup> {
    setups().into_iter().find(|it| it.name == name)
}

/// Returns the world that shows the purpose of a rule, without the rule.
#[must_use]
pub fn weakened(weakening: Weakening) -> Option<Setup> {
    let mut setup = setup(weakening.shown_in())?;
    setup.weakening = Some(weakening);
    // A trace with changing names is hard to read.
    setup.anonymous = false;
    Some(setup)
}
