//! What is told to `tracing`, but for refusals. The names are part of the public API: they are listed in the crate's documentation
//! and tested.

use leasehold::LossReason;
use tracing::warn;

pub(crate) fn went_on_without(key: &str, reason: LossReason) {
    warn!(
        name: "leasehold_tower.went_on_without_lock",
        { lock.key = key, reason = reason.as_str() },
        "a lock was lost, and its request went on"
    );
}

pub(crate) fn body_outlived(key: &str) {
    warn!(
        name: "leasehold_tower.body_outlived_lock",
        { lock.key = key },
        "a body was not at its end when its lock had to be released"
    );
}
