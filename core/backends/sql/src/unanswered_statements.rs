//! The acquire statements of one attempt without a reply, because a late statement must not acquire after the end of its
//! attempt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The times from which the database refuses each of these statements, by its own clock.
#[derive(Debug, Default)]
pub(super) struct UnansweredStatements(Mutex<Vec<i64>>);

impl UnansweredStatements {
    /// Records that a statement has no reply, until the caller reports the reply to the returned value.
    pub(super) fn sending(self: &Arc<Self>, expiry: i64) -> InFlightStatement {
        self.expiries().push(expiry);
        let of = Arc::clone(self);
        InFlightStatement { of, expiry }
    }

    /// Returns the database's time until which it may execute one of the statements. Returns zero if all of them have a
    /// reply.
    pub(super) fn latest_expiry(&self) -> i64 {
        self.expiries().iter().copied().max().unwrap_or_default()
    }

    fn expiries(&self) -> MutexGuard<'_, Vec<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement without a reply yet.
#[derive(Debug)]
pub(super) struct InFlightStatement {
    of: Arc<UnansweredStatements>,
    expiry: i64,
}

impl InFlightStatement {
    pub(super) fn answered(self) {
        let mut expiries = self.of.expiries();
        if let Some(place) = expiries.iter().position(|it| *it == self.expiry) {
            expiries.swap_remove(place);
        }
    }
}
