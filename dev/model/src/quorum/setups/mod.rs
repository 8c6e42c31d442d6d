//! The worlds that are explored.

mod leases;
mod losses;
mod tokens;

use super::setup::Setup;
use super::weakening::Weakening;

/// All setups that are explored in less than a minute, taken together.
#[must_use]
pub fn setups() -> Vec<Setup> {
    let all = tokens::SETUPS.iter().chain(losses::SETUPS);
    all.chain(leases::SETUPS).copied().collect()
}

/// Larger worlds of the same kinds, each of which takes up to a minute.
#[must_use]
pub fn large_setups() -> Vec<Setup> {
    let all = tokens::LARGE.iter().chain(losses::LARGE);
    all.copied().collect()
}

/// The setup of that name.
#[must_use]
pub fn setup(name: &str) -> Option<Setup> {
    let mut all = setups().into_iter().chain(large_setups());
    all.find(|it| it.name == name)
}

/// The world that shows what a rule is for, without the rule.
#[must_use]
pub fn weakened(weakening: Weakening) -> Option<Setup> {
    let mut setup = setup(weakening.shown_in())?;
    setup.weakening = Some(weakening);
    Some(setup)
}
