//! An event of a held lock.

use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::specification::Mode;

/// An event of a held lock. The number of the held lock is unique among the processes of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A lock was granted.
    Granted {
        /// The number of the held lock.
        hold: u64,
        /// The key of the lock.
        key: String,
        /// The mode of the lock.
        mode: Mode,
        /// The fencing token, if the lock has one.
        token: Option<i64>,
        /// A time before the request.
        requested_at: Moment,
        /// A time after the grant.
        at: Moment,
    },
    /// The holder considered the lock valid.
    Valid {
        /// The number of the held lock.
        hold: u64,
        /// The time.
        at: Moment,
    },
    /// The holder released the lock, or noticed its loss.
    Ended {
        /// The number of the held lock.
        hold: u64,
        /// The time when the holder last considered the lock valid.
        at: Moment,
    },
}
