//! A majority of the nodes: its size, its decision, and the error without a majority.

use std::sync::Arc;

use super::quorum_node::QuorumNode;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::runtime;

/// Returns the size of a majority: more than half of all nodes.
pub(super) const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The decision of a majority of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MajorityDecision {
    Yes,
    /// So many nodes refuse that a majority cannot agree.
    No,
}

/// The replies of the nodes to one request.
#[derive(Debug)]
pub(super) struct MajorityCount {
    nodes: usize,
    yes: usize,
    no: usize,
    failures: Vec<(usize, BackendError)>,
}

impl MajorityCount {
    pub(super) fn of(nodes: usize) -> Self {
        Self {
            nodes,
            yes: 0,
            no: 0,
            failures: Vec::new(),
        }
    }

    pub(super) fn count(&mut self, place: usize, answer: Result<bool, BackendError>) {
        match answer {
            Ok(true) => self.yes += 1,
            Ok(false) => self.no += 1,
            Err(error) => self.failures.push((place, error)),
        }
    }

    pub(super) fn verdict(&self) -> Option<MajorityDecision> {
        if self.yes >= majority(self.nodes) {
            Some(MajorityDecision::Yes)
        } else if self.no > self.nodes - majority(self.nodes) {
            Some(MajorityDecision::No)
        } else {
            None
        }
    }

    pub(super) fn answered(&self) -> usize {
        self.yes + self.no
    }

    pub(super) fn is_quorate(&self) -> bool {
        self.answered() >= majority(self.nodes)
    }

    pub(super) fn into_failures(self) -> Vec<(usize, BackendError)> {
        self.failures
    }
}

/// Returns an error with the number of nodes that replied, and the problems of the others.
pub(super) fn no_quorum(
    members: &[Arc<QuorumNode>],
    answered: usize,
    failures: Vec<(usize, BackendError)>,
) -> BackendError {
    if failures.is_empty() && !runtime::in_runtime() {
        return BackendError::outside_a_runtime();
    }
    let why = failures.iter();
    let why = why.map(|(place, error)| format!("{}: {error}", members[*place].address()));
    let why: Vec<_> = why.collect();
    let (nodes, needed, why) = (members.len(), majority(members.len()), why.join("; "));
    let error = BackendError::unknown(match answered < needed {
        true => {
            format!("no quorum: {answered} of {nodes} nodes replied, {needed} are needed ({why})")
        }
        false => {
            format!("no majority: {answered} of {nodes} nodes replied, and do not agree ({why})")
        }
    });
    // If too many nodes refuse permanently, a retry cannot succeed.
    let refusing = failures.iter().filter(|it| !it.1.is_temporary()).count();
    let error = match refusing > nodes - needed {
        true => error.permanent(),
        false => error,
    };
    match failures.into_iter().next() {
        Some((_, first)) => error.with_source(first),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::waiter_registry::WaiterRegistry;

    #[test]
    fn a_majority_is_more_than_half_of_all() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(majority), [1, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn a_majority_of_all_nodes_decides_and_failures_do_not_count() {
        let tally = |answers: &[Option<bool>]| {
            let mut tally = MajorityCount::of(5);
            for (place, answer) in answers.iter().enumerate() {
                let down = || BackendError::not_applied("down");
                tally.count(place, answer.ok_or_else(down));
            }
            tally
        };
        let (yes, no, down) = (Some(true), Some(false), None);
        assert_eq!(tally(&[yes, yes]).verdict(), None);
        assert_eq!(
            tally(&[yes, no, yes, yes]).verdict(),
            Some(MajorityDecision::Yes)
        );
        assert_eq!(tally(&[no, yes, no]).verdict(), None);
        assert_eq!(
            tally(&[no, yes, no, no]).verdict(),
            Some(MajorityDecision::No)
        );
        let undecided = tally(&[yes, yes, no, down, down]);
        assert!(undecided.verdict().is_none() && undecided.is_quorate());
        let failed = tally(&[yes, yes, down, down, down]);
        assert!(failed.verdict().is_none() && !failed.is_quorate());
        assert_eq!(failed.into_failures().len(), 3);
    }

    #[test]
    fn the_no_quorum_error_names_failed_nodes_and_whether_a_retry_helps() {
        let members = QuorumNode::unreachable(5, &WaiterRegistry::new());
        let said = |answered, down, refusing| {
            let down = (0..down).map(|_| BackendError::not_applied("it is down"));
            let refusing =
                (0..refusing).map(|_| BackendError::not_applied("it may not").permanent());
            no_quorum(
                &members,
                answered,
                down.chain(refusing).enumerate().collect(),
            )
        };
        let error = said(2, 1, 2);
        assert_eq!(
            error.to_string(),
            "no quorum: 2 of 5 nodes replied, 3 are needed (127.0.0.1:1: it is down; \
             127.0.0.2:1: it may not; 127.0.0.3:1: it may not)"
        );
        assert!(error.is_temporary());
        assert_eq!(
            said(3, 2, 0).to_string(),
            "no majority: 3 of 5 nodes replied, and do not agree (127.0.0.1:1: it is down; \
             127.0.0.2:1: it is down)"
        );
        assert!(said(0, 3, 2).is_temporary());
        assert!(!said(0, 2, 3).is_temporary());
        assert!(!said(0, 0, 5).is_temporary());
    }

    #[test]
    fn outside_a_runtime_the_error_is_permanent_and_names_the_runtime() {
        let members = QuorumNode::unreachable(3, &WaiterRegistry::new());
        let error = no_quorum(&members, 0, Vec::new());
        assert!(error.to_string().contains("runtime"), "{error}");
        assert!(!error.is_temporary());
    }
}
