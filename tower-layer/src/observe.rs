//! What is told to `tracing`, but for refusals. The names are part of the public API: they are listed in the crate's documentation
//! and tested.

use leasehold::{LockHandle, LossReason};
use tracing::warn;

pub(crate) fn went_on_without(lock: &LockHandle, reason: LossReason) {
    warn!(
        name: "leasehold_tower.went_on_without_lock",
        { lock.key = lock.key(), lock.token = lock.token().get(), reason = reason.as_str() },
        "a lock was lost, and its request went on"
    );
}

pub(crate) fn body_outlived(lock: &LockHandle) {
    warn!(
        name: "leasehold_tower.body_outlived_lock",
        { lock.key = lock.key(), lock.token = lock.token().get() },
        "a body was not at its end when its lock had to be released"
    );
}
