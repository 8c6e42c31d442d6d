//! What is told to `tracing`, and with the feature `metrics` to the `metrics` crate. The names are part of the
//! public API: they are listed in the crate's documentation and tested.

use leasehold::Stale;
use tracing::{debug, trace, warn};

pub(crate) fn written(rows: u64) {
    count("written");
    trace!(name: "leasehold_sqlx.written", { rows }, "a fenced statement was executed");
}

pub(crate) fn begun() {
    count("begun");
    trace!(name: "leasehold_sqlx.begun", "a fenced transaction has begun");
}

pub(crate) fn stale(stale: &Stale) {
    count("stale");
    warn!(
        name: "leasehold_sqlx.stale",
        { lock.token = stale.token.get(), lock.current = stale.current.get() },
        "a stale write was refused"
    );
}

pub(crate) fn partially_stale(applied: u64, stale: u64) {
    count("partially_stale");
    warn!(
        name: "leasehold_sqlx.partially_stale",
        { applied, stale },
        "a partly stale write was rolled back"
    );
}

pub(crate) fn busy(resource: &str) {
    count("busy");
    debug!(name: "leasehold_sqlx.busy", { resource }, "the fence of a resource was held for too long");
}

#[cfg(feature = "metrics")]
fn count(outcome: &'static str) {
    metrics::counter!("leasehold_sqlx_writes_total", "outcome" => outcome).increment(1);
}

#[cfg(not(feature = "metrics"))]
const fn count(_outcome: &'static str) {}
