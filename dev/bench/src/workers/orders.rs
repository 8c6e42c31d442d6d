use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contention::{Rush, Turn};

/// What a process is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Order {
    /// Want this key all the time, from begin to end.
    Rush(Rush),
    /// Take this key and give it back, so that all is there that is needed for it.
    Warm { key: String },
    /// Wait for this key, and do nothing else.
    Wait { key: String, tasks: u32 },
    /// Say what is counted, which only `counted` can.
    Account,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Ready,
    Rushed { turns: Vec<Turn>, cpu: Duration },
    Warm,
    Waiting,
    Account { heap: u64, passes: u64 },
}
