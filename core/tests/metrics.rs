//! The names that metrics carry are part of the public API.

mod life;

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};

#[test]
fn metrics_have_stable_names_and_count_right() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(life::a_life());
    });
    let mut counts = BTreeMap::new();
    for (key, _unit, _description, value) in snapshots.snapshot().into_vec() {
        let labels: Vec<_> = key.key().labels().map(|l| l.value().to_owned()).collect();
        let name = [vec![key.key().name().to_owned()], labels]
            .concat()
            .join(" ");
        let count = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(gauge) => gauge.to_string(),
            DebugValue::Histogram(values) => format!("{} values", values.len()),
        };
        counts.insert(name, count);
    }
    for (name, count) in [
        ("leasehold_acquires_total acquired", "2"),
        ("leasehold_acquires_total busy", "2"),
        ("leasehold_acquires_total cancelled", "1"),
        ("leasehold_acquire_seconds acquired", "2 values"),
        ("leasehold_acquiring", "0"),
        ("leasehold_held", "0"),
        ("leasehold_hold_seconds", "2 values"),
        ("leasehold_endings_total released", "1"),
        ("leasehold_endings_total gone", "1"),
        ("leasehold_releases_total released", "1"),
        ("leasehold_failures_total release", "1"),
    ] {
        assert_eq!(
            counts.get(name).map(String::as_str),
            Some(count),
            "{name} in {counts:#?}"
        );
    }
    assert!(
        counts.contains_key("leasehold_renewals_total extended"),
        "{counts:#?}"
    );
}
