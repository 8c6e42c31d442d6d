//! Exploring a setup.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::claim::{Claim, Sight};
use crate::explore::Exploration;
use crate::setup::Setup;
use crate::trace::Trace;

/// What a whole state space shows.
#[derive(Debug, Clone)]
pub struct Explored {
    /// States that were reached, each as often as a step leads to it.
    pub steps: usize,
    /// States that differ.
    pub states: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The claims that do not hold.
    pub violated: Vec<Claim>,
}

/// Visits every state of the setup and checks its claims in each, also beyond violations.
#[must_use]
pub fn explore(setup: &Setup) -> Explored {
    let begin = Instant::now();
    let exploration = Exploration {
        setup: *setup,
        claims: setup.claims.to_vec(),
    };
    // No property has this name, so nothing ends the search early.
    let never = HasDiscoveries::AllOf(["never"].into());
    let checker = exploration.checker().finish_when(never).spawn_bfs().join();
    let violations = checker.discoveries();
    let mut violated = setup.claims.to_vec();
    violated.retain(|claim| violations.contains_key(claim.name()));
    Explored {
        steps: checker.state_count(),
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: begin.elapsed(),
        violated,
    }
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

/// A shortest way to a state in which the sight was seen.
#[must_use]
pub fn example(setup: &Setup, sight: Sight) -> Option<Trace> {
    let exploration = Exploration {
        setup: Setup {
            looks_for: Some(sight),
            ..*setup
        },
        claims: Vec::new(),
    };
    shortest(exploration, Exploration::SIGHT)
}

/// With one property the search ends at its first discovery, and breadth first that is a nearest one.
fn shortest(exploration: Exploration, name: &'static str) -> Option<Trace> {
    let setup = exploration.setup;
    let checker = exploration.checker().spawn_bfs().join();
    let path = checker.discovery(name)?;
    Some(Trace::new(setup, path.into_vec()))
}
