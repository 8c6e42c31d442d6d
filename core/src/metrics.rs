//! Counters and histograms, without keys as labels.

#[cfg(not(feature = "metrics"))]
pub(crate) use off::*;
#[cfg(feature = "metrics")]
pub(crate) use on::*;

#[cfg(feature = "metrics")]
mod on {
    use std::time::Duration;

    use metrics::{
        Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    };

    use crate::clock::LeaseInstant;

    /// Describes all metrics to the recorder.
    pub(crate) fn describe() {
        let (counts, seconds) = (Unit::Count, Unit::Seconds);
        let counters = [
            (
                "leasehold_acquires_total",
                "Acquires that have ended, by outcome",
            ),
            (
                "leasehold_passed_on_total",
                "Acquires that got the lock by a direct hand-off from another task of the process",
            ),
            (
                "leasehold_endings_total",
                "Held locks that have ended, by reason",
            ),
            ("leasehold_renewals_total", "Renewals of leases, by outcome"),
            (
                "leasehold_releases_total",
                "Releases that the backend has confirmed, by outcome",
            ),
            (
                "leasehold_failures_total",
                "Failed commands to the backend, by command",
            ),
        ];
        for (name, what) in counters {
            describe_counter!(name, counts, what);
        }
        describe_gauge!("leasehold_acquiring", counts, "Acquires in progress");
        describe_gauge!("leasehold_held", counts, "Locks that are held");
        describe_histogram!(
            "leasehold_acquire_seconds",
            seconds,
            "How long an acquire took, by outcome"
        );
        describe_histogram!(
            "leasehold_hold_seconds",
            seconds,
            "How long a lock was held"
        );
    }

    pub(crate) fn acquiring(change: f64) {
        gauge!("leasehold_acquiring").increment(change);
    }

    pub(crate) fn acquire(outcome: &'static str, started: LeaseInstant) {
        let took = LeaseInstant::now().since(started);
        counter!("leasehold_acquires_total", "outcome" => outcome).increment(1);
        histogram!("leasehold_acquire_seconds", "outcome" => outcome).record(took);
    }

    #[cfg(feature = "redis")]
    pub(crate) fn passed_on() {
        counter!("leasehold_passed_on_total").increment(1);
    }

    pub(crate) fn held(change: f64) {
        gauge!("leasehold_held").increment(change);
    }

    pub(crate) fn ended(reason: &'static str, held_for: Duration) {
        counter!("leasehold_endings_total", "reason" => reason).increment(1);
        histogram!("leasehold_hold_seconds").record(held_for);
    }

    pub(crate) fn renewal(outcome: &'static str) {
        counter!("leasehold_renewals_total", "outcome" => outcome).increment(1);
    }

    pub(crate) fn release(outcome: &'static str) {
        counter!("leasehold_releases_total", "outcome" => outcome).increment(1);
    }

    pub(crate) fn failure(command: &'static str) {
        counter!("leasehold_failures_total", "command" => command).increment(1);
    }
}

#[cfg(not(feature = "metrics"))]
mod off {
    use std::time::Duration;

    use crate::clock::LeaseInstant;

    pub(crate) fn describe() {}
    pub(crate) fn acquiring(_change: f64) {}
    pub(crate) fn acquire(_outcome: &'static str, _started: LeaseInstant) {}
    #[cfg(feature = "redis")]
    pub(crate) fn passed_on() {}
    pub(crate) fn held(_change: f64) {}
    pub(crate) fn ended(_reason: &'static str, _held_for: Duration) {}
    pub(crate) fn renewal(_outcome: &'static str) {}
    pub(crate) fn release(_outcome: &'static str) {}
    pub(crate) fn failure(_command: &'static str) {}
}
