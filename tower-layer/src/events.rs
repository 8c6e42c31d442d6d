//! Emits the `tracing` events, except those of refusals. The names of the events are part of the public API: the
//! crate's documentation lists them, and tests check them.

use leasehold_core::{EndReason, Stale};

use leasehold_core::backend::support::event;

pub(crate) fn went_on_without(key: &str, reason: EndReason) {
    event!(
        warn,
        "leasehold_tower.went_on_without_lock",
        { lock.key = key, reason = reason.as_str() },
        "a lock was lost; its request continues without it"
    );
}

pub(crate) fn stale(resource: &str, stale: &Stale) {
    event!(
        warn,
        "leasehold_tower.stale",
        { resource, lock.token = stale.token.get(), lock.current = stale.current.get() },
        "a request with an older token was refused"
    );
}

pub(crate) fn body_outlived(key: &str) {
    event!(
        warn,
        "leasehold_tower.body_outlived_lock",
        { lock.key = key },
        "a lock was released before the end of its response body"
    );
}

#[cfg(all(feature = "idempotency", feature = "sqlx"))]
pub(crate) fn store_failed(error: &leasehold_sqlx::Error) {
    event!(
        warn,
        "leasehold_tower.store_failed",
        { error = error as &dyn std::error::Error },
        "the store of recorded responses failed"
    );
}
