use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

use crate::backend::Attempt;
use crate::clock::Moment;
use crate::{Key, OwnerId};

/// A release that a node is to be told of.
#[derive(Debug, Clone)]
pub(super) struct Debt {
    pub(super) key: Key,
    pub(super) round: OwnerId,
    /// Whose place in line ends with it.
    pub(super) waiter: Option<OwnerId>,
    /// By then all that the round may have left has run out by itself.
    pub(super) until: Moment,
}

impl Debt {
    /// The end of one round, after which the attempt may go on waiting.
    pub(super) fn of_round(attempt: &Attempt, round: OwnerId, max_ttl: Duration) -> Self {
        Self {
            key: attempt.key.clone(),
            round,
            waiter: None,
            until: Moment::now().after(max_ttl),
        }
    }
}

/// What is owed to a node that could not be told.
#[derive(Debug, Default)]
pub(super) struct Debts(Mutex<VecDeque<Debt>>);

impl Debts {
    pub(super) fn owe(&self, debt: Debt) {
        let mut debts = self.0.lock();
        debts.retain(|it| !it.until.has_passed());
        debts.push_back(debt);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The oldest that still matters.
    pub(super) fn next(&self) -> Option<Debt> {
        let mut debts = self.0.lock();
        debts.retain(|it| !it.until.has_passed());
        debts.front().cloned()
    }

    pub(super) fn paid(&self, paid: &Debt) {
        let mut debts = self.0.lock();
        debts.retain(|it| it.round != paid.round || it.waiter != paid.waiter);
    }
}
