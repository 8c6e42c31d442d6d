//! Counts yes and no until one of them has a majority.

use super::quorum_state::majority;
use crate::backend::BackendError;

/// What a majority of nodes says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MajorityDecision {
    Yes,
    /// So many say no that a majority cannot say yes.
    No,
}

/// The answers of nodes to one question.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_of_all_decides_and_failures_do_not() {
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
}
