//! Counters and histograms, without keys as labels. A lock with a name has its name as a label.

#[cfg(not(feature = "metrics"))]
pub use off::count_local_handoff;
#[cfg(not(feature = "metrics"))]
pub(crate) use off::*;
#[cfg(feature = "metrics")]
pub use on::count_local_handoff;
#[cfg(feature = "metrics")]
pub(crate) use on::*;

#[cfg(feature = "metrics")]
mod on {
    use std::time::Duration;

    use metrics::{
        Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
        histogram,
    };

    use crate::clock::LeaseInstant;

    /// Describes all metrics to the recorder.
    pub(crate) fn describe() {
        let (counts, seconds) = (Unit::Count, Unit::Seconds);
        let counters = [
            ("leasehold.acquires", "Acquires that have ended, by outcome"),
            (
                "leasehold.local_handoffs",
                "Acquires that got the lock by a direct hand-off from another task of the process",
            ),
            ("leasehold.ends", "Held locks that have ended, by reason"),
            ("leasehold.renewals", "Renewals of leases, by outcome"),
            (
                "leasehold.releases",
                "Releases that the backend has confirmed, by outcome",
            ),
            (
                "leasehold.failures",
                "Failed commands to the backend, by command",
            ),
        ];
        for (name, what) in counters {
            describe_counter!(name, counts, what);
        }
        describe_gauge!("leasehold.pending_acquires", counts, "Acquires in progress");
        describe_gauge!("leasehold.held_locks", counts, "Locks that are held");
        describe_histogram!(
            "leasehold.acquire.duration",
            seconds,
            "How long an acquire took, by outcome"
        );
        describe_histogram!(
            "leasehold.hold.duration",
            seconds,
            "How long a lock was held"
        );
    }

    type Name = Option<&'static str>;

    /// Returns the labels of a metric: one that the metric always has, and the name of the lock if it has one.
    fn labels(label: Option<(&'static str, &'static str)>, name: Name) -> Vec<Label> {
        let name = name.map(|name| ("name", name));
        let labels = label.into_iter().chain(name);
        labels
            .map(|(label, value)| Label::from_static_parts(label, value))
            .collect()
    }

    pub(crate) fn acquiring(change: f64, name: Name) {
        gauge!("leasehold.pending_acquires", labels(None, name)).increment(change);
    }

    pub(crate) fn acquire(outcome: &'static str, name: Name, started: LeaseInstant) {
        let took = LeaseInstant::now().since(started);
        let labels = labels(Some(("outcome", outcome)), name);
        counter!("leasehold.acquires", labels.clone()).increment(1);
        histogram!("leasehold.acquire.duration", labels).record(took);
    }

    /// Counts a hand-off inside of this process.
    pub fn count_local_handoff() {
        counter!("leasehold.local_handoffs").increment(1);
    }

    pub(crate) fn held(change: f64, name: Name) {
        gauge!("leasehold.held_locks", labels(None, name)).increment(change);
    }

    pub(crate) fn ended(reason: &'static str, name: Name, held_for: Duration) {
        counter!("leasehold.ends", labels(Some(("reason", reason)), name)).increment(1);
        histogram!("leasehold.hold.duration", labels(None, name)).record(held_for);
    }

    pub(crate) fn renewal(outcome: &'static str) {
        counter!("leasehold.renewals", "outcome" => outcome).increment(1);
    }

    pub(crate) fn release(outcome: &'static str) {
        counter!("leasehold.releases", "outcome" => outcome).increment(1);
    }

    pub(crate) fn failure(command: &'static str) {
        counter!("leasehold.failures", "command" => command).increment(1);
    }
}

#[cfg(not(feature = "metrics"))]
mod off {
    use std::time::Duration;

    use crate::clock::LeaseInstant;

    pub(crate) fn describe() {}
    type Name = Option<&'static str>;

    pub(crate) fn acquiring(_change: f64, _name: Name) {}
    pub(crate) fn acquire(_outcome: &'static str, _name: Name, _started: LeaseInstant) {}
    /// Counts a hand-off inside of this process.
    pub fn count_local_handoff() {}
    pub(crate) fn held(_change: f64, _name: Name) {}
    pub(crate) fn ended(_reason: &'static str, _name: Name, _held_for: Duration) {}
    pub(crate) fn renewal(_outcome: &'static str) {}
    pub(crate) fn release(_outcome: &'static str) {}
    pub(crate) fn failure(_command: &'static str) {}
}
