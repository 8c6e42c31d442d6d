//! The state of a key, as a backend reports it to operators.

use std::time::{Duration, SystemTime};

use super::Mode;
use crate::{AttemptId, FencingToken};

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

    /// Creates the entry of a holder by the id to show.
    #[must_use]
    pub fn with_id(id: impl Into<String>, permits: usize, expires_in: Option<Duration>) -> Self {
        Self {
            id: id.into(),
            label: None,
            permits,
            expires_in,
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
