//! Visiting the states of a model.

use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::claim::Claim;

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

/// Visits every state and checks the claims in each, also beyond violations.
pub(crate) fn visit<M>(model: M, claims: &[Claim]) -> Explored
where
    M: Model<State: Clone + Hash + PartialEq + Send + Sync + 'static, Action: Clone + PartialEq>,
    M: Send + Sync + 'static,
{
    let begin = Instant::now();
    // No property has this name, so nothing ends the search early.
    let never = HasDiscoveries::AllOf(["never"].into());
    let checker = model.checker().finish_when(never).spawn_bfs().join();
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

/// The states on a way, each with the step that leaves it.
pub(crate) type Way<M> = Vec<(<M as Model>::State, Option<<M as Model>::Action>)>;

/// A shortest way to what a model's only property looks for. The search ends there, and breadth first that
/// is a nearest one.
pub(crate) fn nearest<M>(model: M, name: &'static str) -> Option<Way<M>>
where
    M: Model<State: Clone + Hash + PartialEq + Send + Sync + 'static, Action: Clone + PartialEq>,
    M: Send + Sync + 'static,
{
    let checker = model.checker().spawn_bfs().join();
    Some(checker.discovery(name)?.into_vec())
}
