use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contention::{Rush, Turn};

/// An order for a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Order {
    /// Acquire this key repeatedly, from the beginning to the end.
    Rush(Rush),
    /// Acquire and release this key, so that everything is initialized.
    Warm { key: String },
    /// Only wait for this key.
    Wait { key: String, tasks: u32 },
    /// Return the counters, which only `counted` has.
    Account,
}

/// The reply of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Ready,
    Rushed { turns: Vec<Turn>, cpu: Duration },
    Warm,
    Waiting,
    Account { heap: u64, passes: u64 },
}
