//! The `tracing` events and the metrics. These tests have their own process, because tests without a subscriber would
//! disable the events.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_sqlx::{Error, Fence, ddl};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqlitePool};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

fn fence(token: i64) -> Fence {
    Fence::try_from(token).unwrap()
}

/// The name of each event, and its fields `event`, `resource` and `lock.token`.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Told>>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    name: &'static str,
    event: String,
    resource: String,
    token: Option<i64>,
}

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "event" => self.event = value.to_owned(),
            "resource" => self.resource = value.to_owned(),
            _ => {}
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if field.name() == "lock.token" {
            self.token = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let name = event.metadata().name();
        if name.starts_with("leasehold_sqlx.") {
            let mut told = Told {
                name,
                ..Told::default()
            };
            event.record(&mut told);
            self.0.lock().unwrap().push(told);
        }
    }
}

#[test]
fn fenced_and_stale_writes_emit_events_and_metrics() {
    let events = Events::default();
    let subscriber = tracing_subscriber::registry().with(events.clone());
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    metrics::with_local_recorder(&recorder, || {
        tracing::subscriber::with_default(subscriber, || runtime.block_on(everything()));
    });
    let told = events.0.lock().unwrap().clone();
    let expected = [
        ("leasehold_sqlx.written", "main.items", None),
        ("leasehold_sqlx.stale", "items", Some(4)),
        ("leasehold_sqlx.partially_stale", "items", Some(4)),
        ("leasehold_sqlx.begun", "a", Some(5)),
        ("leasehold_sqlx.stale", "a", Some(4)),
        ("leasehold_sqlx.busy", "a", Some(6)),
    ];
    let expected = expected.map(|(name, resource, token)| Told {
        name,
        event: name.to_owned(),
        resource: resource.to_owned(),
        token,
    });
    assert_eq!(told, expected);

    let mut counts: Vec<(String, u64)> = Vec::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        assert_eq!(key.key().name(), "leasehold.sqlx.writes");
        let label = key.key().labels().next().unwrap();
        assert_eq!(label.key(), "outcome");
        if let DebugValue::Counter(count) = value {
            counts.push((label.value().to_owned(), count));
        }
    }
    counts.sort();
    let expected = [
        ("begun", 1),
        ("busy", 1),
        ("partially_stale", 1),
        ("stale", 2),
        ("written", 1),
    ];
    assert_eq!(
        counts,
        expected.map(|(name, count)| (name.to_owned(), count))
    );
}

async fn everything() {
    let directory = tempfile::tempdir().unwrap();
    let file = SqliteConnectOptions::new().filename(directory.path().join("items.db"));
    let pool = SqlitePool::connect_with(file.create_if_missing(true))
        .await
        .unwrap();
    let items = "CREATE TABLE items (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO items VALUES (1, 1), (2, 2)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    let one = "UPDATE main.items AS it SET amount = 1 WHERE id = 1";
    fence(5).query(one).execute(&pool).await.unwrap();
    let one = "UPDATE items SET amount = 1 WHERE id = 1";
    assert!(fence(4).query(one).execute(&pool).await.is_err());
    let all = fence(4).query("UPDATE items SET amount = 1").expect_rows(2);
    assert!(matches!(
        all.execute(&pool).await,
        Err(Error::PartiallyStale { .. })
    ));
    fence(5)
        .begin(&pool, "a")
        .await
        .unwrap()
        .commit()
        .await
        .unwrap();
    assert!(fence(4).begin(&pool, "a").await.is_err());
    let mut other = pool.acquire().await.unwrap();
    let holds = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let busy = fence(6)
        .begin(&pool, "a")
        .lock_timeout(Duration::from_millis(1));
    assert!(matches!(busy.await, Err(Error::Busy { .. })));
    holds.rollback().await.unwrap();
}
