//! What this process keeps for one attempt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold_core::AttemptId;
use leasehold_core::backend::{Attempt, Claim};
use tokio::sync::Notify;

use super::local_waiters::{Registration, Waiters};
use super::unanswered_statements::UnansweredStatements;

/// The statements of an attempt, and its registration while it waits.
#[derive(Debug, Default)]
pub(super) struct SqlAttempt {
    pub(super) statements: Arc<UnansweredStatements>,
    registration: Mutex<Option<Registration>>,
}

impl SqlAttempt {
    pub(super) fn of(attempt: &Attempt) -> Arc<Self> {
        attempt.state(Self::default)
    }

    pub(super) fn of_claim(claim: &Claim) -> Arc<Self> {
        claim.state(Self::default)
    }

    /// Registers the attempt as a waiter. Returns whether it was not one before.
    pub(super) fn begin_to_wait(&self, owner: AttemptId, waiters: &Arc<Waiters>) -> bool {
        let mut registration = self.registration();
        let is_new = registration.is_none();
        registration.get_or_insert_with(|| Waiters::register(waiters, owner));
        is_new
    }

    /// Ends the registration.
    pub(super) fn stop_waiting(&self) {
        *self.registration() = None;
    }

    pub(super) fn wake_up(&self) -> Option<Arc<Notify>> {
        self.registration().as_ref().map(Registration::wake_up)
    }

    fn registration(&self) -> MutexGuard<'_, Option<Registration>> {
        self.registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
