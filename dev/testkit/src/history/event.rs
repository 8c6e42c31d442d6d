//! One thing that happened.

use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::specification::Mode;

/// What happened to a hold. Its number is unique among the processes of this
/// machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A lock was granted.
    Granted {
        /// The hold's number.
        hold: u64,
        /// The lock's key.
        key: String,
        /// How it is held.
        mode: Mode,
        /// The fencing token that came with it, if the lock has such.
        token: Option<i64>,
        /// Before it was asked for.
        requested_at: Moment,
        /// After it was granted.
        at: Moment,
    },
    /// Its holder believed it valid.
    Valid {
        /// The hold's number.
        hold: u64,
        /// When.
        at: Moment,
    },
    /// Its holder gave it up, or knew that it was lost.
    Ended {
        /// The hold's number.
        hold: u64,
        /// When its holder last believed it valid.
        at: Moment,
    },
}
