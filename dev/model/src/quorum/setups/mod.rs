//! The explored worlds.

mod leases;
mod losses;
mod tokens;

use super::setup::Setup;
use super::weakening::Weakening;

/// Returns all setups that are explored in less than a minute in total.
#[must_use]
pub fn setups() -> Vec<Setup> {
    let all = tokens::SETUPS.iter().chain(losses::SETUPS);
    all.chain(leases::SETUPS).copied().collect()
}

/// Returns larger setups, each of which takes up to a minute.
#[must_use]
pub fn large_setups() -> Vec<Setup> {
    let all = tokens::LARGE.iter().chain(losses::LARGE);
    all.copied().collect()
}

/// Returns the setup with this name.
#[must_use]
pub fn setup(name: &str) -> Option<Setup> {
    let mut all = setups().into_iter().chain(large_setups());
    all.find(|it| it.name == name)
}

/// Returns the world that shows the purpose of a rule, without the rule.
#[must_use]
pub fn weakened(weakening: Weakening) -> Option<Setup> {
    let mut setup = setup(weakening.shown_in())?;
    setup.weakening = Some(weakening);
    Some(setup)
}
