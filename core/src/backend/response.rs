//! The replies of a backend to each request.

use std::time::{Duration, SystemTime};

use super::{Mode, Outcome};
use crate::{AttemptId, FencingToken};

/// The reply to an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptAnswer {
    /// The caller holds the lock.
    Granted {
        /// The fencing token of this acquisition. The reply to a duplicate request contains the same token.
        token: FencingToken,
        /// The duration of the lease, from the moment when the backend granted the lock.
        lease: Duration,
    },
    /// Another holder has the lock, or another waiter is before the caller.
    Busy {
        /// The time after which another attempt is due, even without a notification.
        retry_after: Duration,
    },
    /// The backend will not grant the lock, however long the caller waits. The backend stores nothing about the
    /// attempt.
    Refused(Refusal),
    /// The attempt has the flag [`once`](super::Attempt::once), and the backend keeps the outcome of an earlier holder.
    /// The backend stores nothing about the attempt.
    Recorded(Outcome),
}

/// The reason why an attempt can never succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The key is already used as a semaphore and the attempt wants a lock, or the reverse.
    OtherKind,
    /// The previous holder does not hold the lock. Its lease has expired, or the handover was already accepted. The
    /// previous holder may also have registered no handover with this token and secret.
    HandoverSpent,
}

/// The reply to the renewal of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewAnswer {
    /// The claim's owner still holds the lock.
    Extended {
        /// The duration of the lease, from the moment when the backend extended the lease.
        lease: Duration,
    },
    /// The claim's owner does not hold the lock, and cannot hold it again.
    Gone,
}

/// The reply to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// This command released the lock.
    Released,
    /// The claim's owner did not hold the lock when the backend executed this command.
    AlreadyGone,
}

/// The state of a key on a backend at one moment.
///
/// The state may be outdated when you read it. Display the state on dashboards, but do not base decisions on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The only holder: a short hash of an attempt's id, as in events and spans, or the value that another program
    /// wrote. `None` if the lock may have several holders.
    pub owner: Option<String>,
    /// The token of the holder, or the last token that the backend generated for a shared holder. `None` until the new
    /// holder has confirmed a hand-off.
    pub token: Option<FencingToken>,
    /// When the backend generated `token`, by the clock of the backend: when the only holder acquired the lock. The time
    /// may be too late if that clock was set back, and on Redlock by up to one second. `None` on `ZooKeeper`, because its
    /// tokens are not times.
    pub granted_at: Option<SystemTime>,
    /// The remaining time of the lease. With several holders, this is the remaining time of the longest lease.
    pub expires_in: Option<Duration>,
    /// The number of holders, or of permits in use.
    pub holders: usize,
    /// The holders. A holder of several permits is in this list once.
    pub held_by: Vec<HolderInfo>,
    /// The number of waiters.
    pub waiting: usize,
}

/// One holder of a key: the holder of a lock, a reader, or a holder of permits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HolderInfo {
    /// A short hash of the attempt's id, as in events and spans, or the value that another program wrote. Pass the id to
    /// [`force_release_holder`](crate::LockManager::force_release_holder) to end the lock of this holder only.
    pub id: String,
    /// The label of the holder's manager. `None` for the lock of another program, and until a waiter has confirmed a
    /// grant.
    pub label: Option<String>,
    /// The number of permits, or 1 for the holder of a lock.
    pub permits: usize,
    /// The remaining time of this holder's lease.
    pub expires_in: Option<Duration>,
}

impl HolderInfo {
    /// Creates the entry of an owner.
    #[must_use]
    pub fn new(owner: AttemptId, mode: Mode, expires_in: Duration) -> Self {
        Self {
            id: owner.to_string(),
            label: owner.label().map(str::to_owned),
            permits: mode.size(),
            expires_in: Some(expires_in),
        }
    }

    /// Sets the label.
    #[must_use]
    pub fn labelled(mut self, label: Option<String>) -> Self {
        self.label = label;
        self
    }
}

impl Inspection {
    /// Returns whether the key has no holders and no waiters.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holders == 0 && self.waiting == 0
    }
}
