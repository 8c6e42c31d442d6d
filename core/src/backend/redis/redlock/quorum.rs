use std::sync::Arc;

use super::election::majority;
use super::member::Member;
use crate::backend::BackendError;

/// Says how many nodes could be asked, and what is wrong with the others.
pub(super) fn no_quorum(
    members: &[Arc<Member>],
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
