//! What a backend returns for each request.

use std::time::Duration;

use crate::FencingToken;

/// The answer to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptAnswer {
    /// The caller holds the lock.
    Granted {
        /// The fencing token of this acquisition; the same for a second copy of the request.
        token: FencingToken,
        /// How long the lease lasts, from the moment the backend granted it.
        lease: Duration,
    },
    /// Somebody else holds the lock, or stands before the caller.
    Busy {
        /// After this time another attempt is due, whether or not a wake-up came.
        retry_after: Duration,
    },
    /// The caller will not get the lock, however long it waits. Nothing is left behind.
    Refused(Refusal),
}

/// Why an attempt has no prospect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The key is in use as a semaphore and the attempt wants a lock, or the other way round.
    OtherKind,
    /// The giver does not hold the lock any more: its lease ran out, or the handover was taken up already. Or it has
    /// handed nothing over under this token and secret.
    HandoverSpent,
}

/// The answer to the renewal of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewAnswer {
    /// Still held.
    Extended {
        /// How long the lease lasts, from the moment the backend extended it.
        lease: Duration,
    },
    /// The claim's owner does not hold the lock any more, and never will again.
    Gone,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// This command released it.
    Released,
    /// The claim's owner did not hold it when this command came.
    AlreadyGone,
}

/// What a backend knows about a key at one moment.
///
/// By the time it is read it may be otherwise: for people and dashboards, not for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Who alone holds the lock: a short hash of an attempt's id, as events and spans have it, or whatever a foreign
    /// program wrote there. None where several may hold it.
    pub owner: Option<String>,
    /// The token of its holder, or the last that was drawn by those who share it; none while a hand-off is not
    /// yet confirmed.
    pub token: Option<FencingToken>,
    /// How long the lease lasts, or the longest of several, unless it is renewed.
    pub expires_in: Option<Duration>,
    /// How many hold it: one, or as many as share it, or as permits are taken.
    pub holders: usize,
    /// How many wait.
    pub waiting: usize,
}

impl Inspection {
    /// Nobody holds the lock and nobody waits for it.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holders == 0 && self.waiting == 0
    }
}
