//! The names of the metrics are part of the public API.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod dashboard;
mod typical_operations;

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, LockManager, ReentrancyScope};
use metrics::Recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

/// Records the metrics of a life.
fn record(recorder: &dyn Recorder, life: impl Future<Output = ()>) {
    metrics::with_local_recorder(recorder, || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(life);
    });
}

/// Returns the metrics of a life, by name and labels.
fn counted(life: impl Future<Output = ()>) -> BTreeMap<String, String> {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    record(&recorder, life);
    let mut counts = BTreeMap::new();
    for (key, unit, description, value) in snapshots.snapshot().into_vec() {
        let described = unit.is_some() && description.is_some_and(|it| !it.is_empty());
        assert!(described, "{key:?}");
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
fn metrics_have_stable_names_and_correct_counts() {
    let counts = counted(typical_operations::a_life());
    for (name, count) in [
        ("leasehold.acquires acquired", "2"),
        ("leasehold.acquires busy", "2"),
        ("leasehold.acquires cancelled", "1"),
        ("leasehold.acquire.duration acquired", "2 values"),
        ("leasehold.pending_acquires", "0"),
        ("leasehold.held_locks", "0"),
        ("leasehold.hold.duration", "2 values"),
        ("leasehold.ends released", "1"),
        ("leasehold.ends gone", "1"),
        ("leasehold.releases released", "1"),
        ("leasehold.failures release", "1"),
    ] {
        assert_eq!(
            counts.get(name).map(String::as_str),
            Some(count),
            "{name} in {counts:#?}"
        );
    }
    assert!(
        counts.contains_key("leasehold.renewals extended"),
        "{counts:#?}"
    );
}

#[test]
fn a_named_lock_has_its_name_as_a_label() {
    let counts = counted(async {
        let locks = LockManager::in_process();
        let account = |key: &str| locks.lock(key).name("account");
        let guard = account("account:1").acquire().await.unwrap();
        let busy = account("account:1").wait(Duration::from_millis(1));
        assert!(busy.acquire().await.unwrap_err().is_busy());
        locks.force_release("account:1").await.unwrap();
        assert!(guard.release().await.is_err());
        let set = locks.lock_all(["a", "b"]).name("set");
        set.acquire().await.unwrap().release().await.unwrap();
        locks
            .lock("account:1")
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    });
    for (name, count) in [
        ("leasehold.acquires acquired account", "1"),
        ("leasehold.acquires busy account", "1"),
        ("leasehold.acquires acquired set", "2"),
        ("leasehold.acquires acquired", "1"),
        ("leasehold.acquire.duration busy account", "1 values"),
        ("leasehold.pending_acquires account", "0"),
        ("leasehold.pending_acquires", "0"),
        ("leasehold.held_locks account", "0"),
        ("leasehold.held_locks set", "0"),
        ("leasehold.hold.duration account", "1 values"),
        ("leasehold.hold.duration set", "2 values"),
        ("leasehold.ends gone account", "1"),
        ("leasehold.ends released set", "2"),
        ("leasehold.ends released", "1"),
    ] {
        let seen = counts.get(name).map(String::as_str);
        assert_eq!(seen, Some(count), "{name} in {counts:#?}");
    }
}

#[test]
fn each_key_of_a_lock_set_is_counted_and_a_nested_acquire_is_not() {
    let counts = counted(async {
        let locks = LockManager::in_process();
        let set = locks.lock_all(["a", "b", "c"]).acquire().await.unwrap();
        set.release().await.unwrap();
        let owner = ReentrancyScope::new();
        let lock = locks.lock("k").reentrant(&owner);
        let outer = lock.clone().acquire().await.unwrap();
        drop(lock.acquire().await.unwrap());
        outer.release().await.unwrap();
    });
    for (name, count) in [
        ("leasehold.acquires acquired", "4"),
        ("leasehold.ends released", "4"),
        ("leasehold.releases released", "4"),
        ("leasehold.hold.duration", "4 values"),
    ] {
        let seen = counts.get(name).map(String::as_str);
        assert_eq!(seen, Some(count), "{name} in {counts:#?}");
    }
}

#[test]
fn a_loss_found_by_the_release_is_counted_as_a_loss() {
    let counts = counted(async {
        let world = InProcess::new();
        let locks = LockManager::new(world.clone());
        let guard = locks.lock("k").acquire().await.unwrap();
        let others = LockManager::new(world);
        others.force_release("k").await.unwrap();
        let released = guard.release().await;
        assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Gone));
        drop(others.lock("k").acquire().await.unwrap());
    });
    for (name, count) in [
        ("leasehold.ends gone", Some("1")),
        ("leasehold.ends released", Some("1")),
        ("leasehold.hold.duration", Some("2 values")),
        ("leasehold.held_locks", Some("0")),
    ] {
        let seen = counts.get(name).map(String::as_str);
        assert_eq!(seen, count, "{name} in {counts:#?}");
    }
}

#[test]
fn a_release_that_is_never_confirmed_is_counted_once() {
    let counts = counted(async {
        let backend = Faulty::new(InProcess::new(), |call| match call.command {
            Command::Release => Fault::LoseAnswer,
            _ => Fault::None,
        });
        let locks = LockManager::new(backend);
        let guard = locks.lock("k").acquire().await.unwrap();
        assert!(guard.release().await.is_err());
        tokio::time::sleep(Duration::from_secs(600)).await;
    });
    let seen = counts.get("leasehold.ends released");
    assert_eq!(seen.map(String::as_str), Some("1"), "{counts:#?}");
    assert!(!counts.contains_key("leasehold.ends gone"), "{counts:#?}");
}
