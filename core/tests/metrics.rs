//! The names that metrics carry are part of the public API.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod life;

use std::collections::BTreeMap;
use std::future::Future;

use leasehold::{LockManager, OwnerScope};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

/// What is counted in a life, by name and labels.
fn counted(life: impl Future<Output = ()>) -> BTreeMap<String, String> {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(life);
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
    counts
}

#[test]
fn metrics_have_stable_names_and_count_right() {
    let counts = counted(life::a_life());
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

#[test]
fn each_of_several_keys_counts_and_a_nested_acquire_does_not() {
    let counts = counted(async {
        let locks = LockManager::in_process();
        let set = locks.lock_all(["a", "b", "c"]).acquire().await.unwrap();
        set.release().await.unwrap();
        let owner = OwnerScope::new();
        let lock = locks.lock("k").reentrant(&owner);
        let outer = lock.clone().acquire().await.unwrap();
        drop(lock.acquire().await.unwrap());
        outer.release().await.unwrap();
    });
    for (name, count) in [
        ("leasehold_acquires_total acquired", "4"),
        ("leasehold_endings_total released", "4"),
        ("leasehold_releases_total released", "4"),
        ("leasehold_hold_seconds", "4 values"),
    ] {
        let seen = counts.get(name).map(String::as_str);
        assert_eq!(seen, Some(count), "{name} in {counts:#?}");
    }
}
