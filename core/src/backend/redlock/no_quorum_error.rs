//! The error for a round in which no majority answered.

use std::sync::Arc;

use super::quorum_node::QuorumNode;
use super::quorum_state::majority;
use crate::backend::BackendError;

/// Says how many nodes could be asked, and what is wrong with the others.
pub(super) fn no_quorum(
    members: &[Arc<QuorumNode>],
    answered: usize,
    failures: Vec<(usize, BackendError)>,
) -> BackendError {
    let why = failures.iter();
    let why = why.map(|(place, error)| format!("{}: {error}", members[*place].address()));
    let why: Vec<_> = why.collect();
    let (nodes, needed, why) = (members.len(), majority(members.len()), why.join("; "));
    let error = BackendError::unknown(match answered < needed {
        true => {
            format!("no quorum: {answered} of {nodes} nodes answered, {needed} are needed ({why})")
        }
        false => {
            format!("no majority: {answered} of {nodes} nodes answered, and do not agree ({why})")
        }
    });
    // Where so many refuse for good, asking again is of no use.
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
    use crate::backend::redis::wait::waiter_registry::WaiterRegistry;

    #[test]
    fn it_says_what_is_missing_and_asks_no_more_where_a_majority_cannot_be() {
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
            "no quorum: 2 of 5 nodes answered, 3 are needed (127.0.0.1:1: it is down; \
             127.0.0.2:1: it may not; 127.0.0.3:1: it may not)"
        );
        assert!(error.is_temporary());
        assert_eq!(
            said(3, 2, 0).to_string(),
            "no majority: 3 of 5 nodes answered, and do not agree (127.0.0.1:1: it is down; \
             127.0.0.2:1: it is down)"
        );
        assert!(said(0, 3, 2).is_temporary());
        assert!(!said(0, 2, 3).is_temporary());
        assert!(!said(0, 0, 5).is_temporary());
    }
}
