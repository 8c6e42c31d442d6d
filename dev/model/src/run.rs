//! Exploring a setup.

use crate::claim::{Claim, Reachable};
use crate::explore::Exploration;
use crate::search::{Explored, nearest, visit};
use crate::setup::Setup;
use crate::trace::Trace;
use crate::words;

/// Visits every state of the setup and checks its claims in each, also beyond violations.
#[must_use]
pub fn explore(setup: &Setup) -> Explored {
    let exploration = Exploration {
        setup: *setup,
        claims: setup.claims.to_vec(),
    };
    visit(exploration, setup.claims)
}

/// A shortest way to a state in which the claim does not hold.
#[must_use]
pub fn counterexample(setup: &Setup, claim: Claim) -> Option<Trace> {
    let exploration = Exploration {
        setup: *setup,
        claims: vec![claim],
    };
    shortest(exploration, claim.name())
}

/// A shortest way to a state in which it was seen.
#[must_use]
pub fn example(setup: &Setup, reachable: Reachable) -> Option<Trace> {
    let exploration = Exploration {
        setup: Setup {
            looks_for: Some(reachable),
            ..*setup
        },
        claims: Vec::new(),
    };
    shortest(exploration, Exploration::REACHABLE)
}

fn shortest(exploration: Exploration, name: &'static str) -> Option<Trace> {
    let setup = exploration.setup;
    let way = nearest(exploration, name)?;
    Some(words::tell(&setup, &way))
}
