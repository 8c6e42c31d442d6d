//! The names of traces are part of the public API.
//!
//! This file has only one test, because `tracing` caches per process which subscribers are interested in an event.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "it/named_backend.rs"]
mod named_backend;
#[path = "it/metrics/typical_operations.rs"]
mod typical_operations;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::{BackendError, ConnectError, InProcess};
use leasehold::conformance::{Fault, Faulty};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Spans and events with their fields, in order. Includes later records of a span.
#[derive(Clone, Default)]
struct Traces(Arc<Mutex<Vec<Trace>>>);

/// The name, and the fields as text.
type Trace = (String, BTreeMap<String, String>);

/// The output of a formatter.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn writer(&self) -> impl Fn() -> Self + use<> {
        let log = self.clone();
        move || log.clone()
    }

    fn all(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traces {
    fn on_new_span(&self, span: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.push(span.metadata().name(), fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id) {
            self.push(span.name(), fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        assert_eq!(
            fields.0.get("event").map(String::as_str),
            Some(event.metadata().name())
        );
        self.push(event.metadata().name(), fields);
    }
}

impl Traces {
    fn push(&self, name: &str, fields: Fields) {
        if let Ok(mut seen) = self.0.lock() {
            seen.push((name.to_owned(), fields.0));
        }
    }

    fn assert_have(&self, expected: &[(&str, &str, &str)]) {
        for (name, field, value) in expected {
            let fields = self.fields(name);
            let found = fields.get(*field).map(String::as_str);
            assert_eq!(found, Some(*value), "{name}: {fields:?}");
        }
    }

    /// Returns all fields of `name`, each with its last value.
    fn fields(&self, name: &str) -> BTreeMap<String, String> {
        let seen = self.0.lock().map(|seen| seen.clone()).unwrap_or_default();
        let matching = seen.into_iter().filter(|(n, _)| n == name);
        matching.flat_map(|(_, fields)| fields).collect()
    }
}

/// Connects to a backend that cannot be reached at the first try.
async fn connect_at_the_second_try() {
    let has_started = AtomicBool::new(false);
    named_backend::add("named:starting", move || {
        let connected = match has_started.swap(true, Ordering::Relaxed) {
            true => Ok(InProcess::new()),
            false => Err(ConnectError::Server {
                address: "db:1".to_owned(),
                source: BackendError::not_applied("it starts"),
            }),
        };
        async { connected }
    });
    let retry = LockManager::builder().connect_retry_timeout(Duration::MAX);
    retry.connect("named:starting").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn spans_and_events_have_stable_names_and_fields() {
    let traces = Traces::default();
    let (text, json) = (Log::default(), Log::default());
    let subscriber = tracing_subscriber::registry()
        .with(traces.clone())
        .with(fmt::layer().with_ansi(false).with_writer(text.writer()))
        .with(fmt::layer().json().with_writer(json.writer()));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    typical_operations::a_life().await;

    let acquire = traces.fields("leasehold.acquire");
    for field in [
        "lock.key",
        "lock.label",
        "lock.ttl",
        "lock.owner",
        "lock.token",
        "lock.outcome",
    ] {
        assert!(acquire.contains_key(field), "{field} in {acquire:?}");
    }
    let label = LockManager::in_process().label().to_owned();
    assert!(!acquire.contains_key("lock.name"), "{acquire:?}");
    traces.assert_have(&[
        ("leasehold.acquire", "lock.label", &label),
        ("leasehold.lost", "lock.label", &label),
        ("leasehold.renewed", "lock.key", "order:42"),
        (
            "leasehold.release_failed",
            "error",
            "an injected loss of the reply",
        ),
        ("leasehold.released", "lock.outcome", "released"),
        ("leasehold.given_up", "lock.key", "order:42"),
        ("leasehold.cleaned_up", "lock.key", "order:42"),
        ("leasehold.lost", "reason", "gone"),
    ]);
    let (text, json) = (text.all(), json.all());
    assert!(text.contains(r#"event="leasehold.lost""#), "{text}");
    assert!(json.contains(r#""event":"leasehold.lost""#), "{json}");
    a_hard_life().await;
    traces.assert_have(&[
        ("leasehold.attempt_failed", "applied", "no"),
        ("leasehold.wait_failed", "error", "an injected refusal"),
        ("leasehold.renewal_failed", "lock.key", "order:44"),
        ("leasehold.cleanup_failed", "error", "an injected refusal"),
    ]);
    let election = LockManager::in_process().election("order:46");
    let campaign = election.campaign(async |_leader| Ok::<_, leasehold::Error>(()));
    campaign.await.unwrap();
    traces.assert_have(&[
        ("leasehold.elected", "lock.key", "order:46"),
        ("leasehold.term_ended", "lock.key", "order:46"),
        ("leasehold.term_ended", "outcome", "completed"),
    ]);
    connect_at_the_second_try().await;
    traces.assert_have(&[(
        "leasehold.connect_failed",
        "error",
        "connecting to db:1 failed: it starts",
    )]);
    let manager = LockManager::builder().label("api-7");
    let locks = manager.build(InProcess::new()).unwrap();
    let guard = locks.lock("account:7").name("account").acquire().await;
    locks.force_release("account:7").await.unwrap();
    assert!(guard.unwrap().release().await.is_err());
    traces.assert_have(&[
        ("leasehold.acquire", "lock.name", "account"),
        ("leasehold.acquire", "lock.label", "api-7"),
        ("leasehold.lost", "lock.name", "account"),
        ("leasehold.lost", "lock.label", "api-7"),
    ]);
    annotated(&locks, &traces).await;
    a_task_waits_for_its_own_guard(&traces).await;
}

/// Checks that a wait for a lock of the same manager is reported once, after two seconds. Other waits are not reported.
async fn a_task_waits_for_its_own_guard(traces: &Traces) {
    const NAME: &str = "leasehold.held_by_same_manager";
    let count = || {
        traces
            .0
            .lock()
            .unwrap()
            .iter()
            .filter(|it| it.0 == NAME)
            .count()
    };
    let world = InProcess::new();
    let (locks, other) = (LockManager::new(world.clone()), LockManager::new(world));
    let (_guard, line) = (locks.lock("order:47").acquire().await.unwrap(), line!());
    let _permit = locks.semaphore("uploads", 1).acquire().await.unwrap();
    let wait = async |locks: &LockManager, millis| {
        let lock = locks.lock("order:47").wait(Duration::from_millis(millis));
        lock.acquire().await.unwrap_err()
    };
    wait(&locks, 1_999).await;
    wait(&other, 60_000).await;
    let permits = locks.semaphore("uploads", 1).wait(Duration::from_secs(3));
    permits.acquire().await.unwrap_err();
    assert_eq!(count(), 0);
    wait(&locks, 60_000).await;
    assert_eq!(count(), 1);
    traces.assert_have(&[
        (NAME, "lock.key", "order:47"),
        (NAME, "acquired_at", &format!("{}:{line}", file!())),
    ]);
}

/// Checks the name that the attribute sets, also for several keys and for `once`, and the event of a skipped call.
async fn annotated(locks: &LockManager, traces: &Traces) {
    use leasehold::{Error, distributed_lock};

    #[distributed_lock("k:1", manager = locks, name = "one")]
    async fn one(locks: &LockManager) -> Result<(), Error> {
        Ok(())
    }

    #[distributed_lock("k:1", "k:2", manager = locks, name = SET)]
    async fn set(locks: &LockManager) -> Result<(), Error> {
        Ok(())
    }
    const SET: &str = "set";

    #[distributed_lock("o", manager = locks, once = "1h", name = "once")]
    async fn once(locks: &LockManager) -> Result<u8, Error> {
        Ok(1)
    }

    #[distributed_lock("report:{day}", manager = locks, contended = "skip")]
    async fn skipping(locks: &LockManager, day: u32) -> Result<(), Error> {
        Ok(())
    }

    one(locks).await.unwrap();
    traces.assert_have(&[("leasehold.acquire", "lock.name", "one")]);
    set(locks).await.unwrap();
    traces.assert_have(&[("leasehold.acquire", "lock.name", "set")]);
    once(locks).await.unwrap();
    traces.assert_have(&[("leasehold.acquire", "lock.name", "once")]);

    skipping(locks, 1).await.unwrap();
    assert!(traces.fields("leasehold.skipped").is_empty());
    let _held = locks.lock("report:2").acquire().await.unwrap();
    skipping(locks, 2).await.unwrap();
    traces.assert_have(&[("leasehold.skipped", "lock.key", "report:2")]);
}

/// Runs operations in which each command fails once.
async fn a_hard_life() {
    let mut failed = Vec::new();
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), move |call| {
        if failed.contains(&call.command) {
            Fault::None
        } else {
            failed.push(call.command);
            Fault::Fail
        }
    });
    let (locks, other) = (LockManager::new(backend), LockManager::new(world));
    let guard = locks.lock("order:44").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let _held = other.lock("order:45").acquire().await.unwrap();
    let waiting = locks.lock("order:45").acquire();
    assert!(
        tokio::time::timeout(Duration::from_secs(1), waiting)
            .await
            .is_err()
    );
    drop(guard);
    tokio::time::sleep(Duration::from_secs(1)).await;
}
