//! Visits the states of a model.

use std::hash::Hash;
use std::num::NonZero;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::claim::Claim;

/// The result of an exploration.
#[derive(Debug, Clone)]
pub struct Explored {
    /// The number of steps to any state.
    pub steps: usize,
    /// The number of different states.
    pub states: usize,
    /// The length of the longest shortest path to a state.
    pub depth: usize,
    /// The duration of the search.
    pub took: Duration,
    /// The claims that do not hold.
    pub violated: Vec<Claim>,
}

/// Visits every state, and checks the claims in each state. Continues after violations. With a limit, visits only about
/// so many states, beginning with those that need the fewest steps.
pub(crate) fn visit<M>(model: M, claims: &[Claim], limit: Option<NonZero<usize>>) -> Explored
where
    M: Model<State: Clone + Hash + PartialEq + Send + Sync + 'static, Action: Clone + PartialEq>,
    M: Send + Sync + 'static,
{
    let begin = Instant::now();
    // No property has this name, so the search does not end early.
    let never = HasDiscoveries::AllOf(["never"].into());
    let mut checker = model.checker().finish_when(never);
    if let Some(limit) = limit {
        checker = checker.target_state_count(limit.get());
    }
    let checker = checker.spawn_bfs().join();
    let violations = checker.discoveries();
    let mut violated = claims.to_vec();
    violated.retain(|claim| violations.contains_key(claim.name()));
    Explored {
        steps: checker.state_count(),
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: begin.elapsed(),
        violated,
    }
}

/// The states on a path, each with the step that leaves it.
pub(crate) type Way<M> = Vec<(<M as Model>::State, Option<<M as Model>::Action>)>;

/// Returns a shortest path to a state with the only property of a model. The search is breadth-first and ends at the
/// first such state.
pub(crate) fn nearest<M>(model: M, name: &'static str) -> Option<Way<M>>
where
    M: Model<State: Clone + Hash + PartialEq + Send + Sync + 'static, Action: Clone + PartialEq>,
    M: Send + Sync + 'static,
{
    let checker = model.checker().spawn_bfs().join();
    Some(checker.discovery(name)?.into_vec())
}
