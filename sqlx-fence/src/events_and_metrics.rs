//! Emits the `tracing` events, and with the feature `metrics` updates the counters. The names of events and counters
//! are part of the public API: the crate's documentation lists them, and tests check them.

use leasehold_core::{FencingToken, Stale};

use leasehold_core::backend::support::event;

pub(crate) fn written(table: &str, rows: u64) {
    count("written");
    event!(
        trace,
        "leasehold_sqlx.written",
        { resource = table, rows },
        "a fenced statement was executed"
    );
}

pub(crate) fn begun(resource: &str, token: FencingToken) {
    count("begun");
    event!(
        trace,
        "leasehold_sqlx.begun",
        { resource, lock.token = token.get() },
        "a fenced transaction has begun"
    );
}

pub(crate) fn stale(resource: &str, stale: &Stale) {
    count("stale");
    event!(
        warn,
        "leasehold_sqlx.stale",
        { resource, lock.token = stale.token.get(), lock.current = stale.current.get() },
        "a stale write was refused"
    );
}

pub(crate) fn partially_stale(table: &str, token: FencingToken, applied: u64, stale: u64) {
    count("partially_stale");
    event!(
        warn,
        "leasehold_sqlx.partially_stale",
        { resource = table, lock.token = token.get(), applied, stale },
        "a partially stale write was rolled back"
    );
}

pub(crate) fn busy(resource: &str, token: FencingToken) {
    count("busy");
    event!(
        debug,
        "leasehold_sqlx.busy",
        { resource, lock.token = token.get() },
        "another transaction held the fence of a resource for too long"
    );
}

#[cfg(feature = "metrics")]
fn count(outcome: &'static str) {
    metrics::counter!("leasehold.sqlx.writes", "outcome" => outcome).increment(1);
}

#[cfg(not(feature = "metrics"))]
const fn count(_outcome: &'static str) {}
