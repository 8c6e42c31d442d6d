//! What is told to `tracing` and to `metrics`. Alone in its process: others without a subscriber would have its
//! events switched off.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use leasehold_sqlx::{Error, Fence, ddl};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use sqlx::sqlite::SqlitePoolOptions;
use tracing::Subscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

fn fence(token: i64) -> Fence {
    Fence::try_from(token).unwrap()
}

#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let name = event.metadata().name();
        if name.starts_with("leasehold_sqlx.") {
            self.0.lock().unwrap().push(name);
        }
    }
}

#[test]
fn fenced_and_stale_writes_are_told() {
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
    let expected = ["written", "stale", "partially_stale", "begun", "stale"];
    assert_eq!(told, expected.map(|it| format!("leasehold_sqlx.{it}")));

    let mut counts: Vec<(String, u64)> = Vec::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        assert_eq!(key.key().name(), "leasehold_sqlx_writes_total");
        let label = key.key().labels().next().unwrap();
        assert_eq!(label.key(), "outcome");
        if let DebugValue::Counter(count) = value {
            counts.push((label.value().to_owned(), count));
        }
    }
    counts.sort();
    let expected = [
        ("begun", 1),
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
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    let items = "CREATE TABLE items (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO items VALUES (1, 1), (2, 2)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "items").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    let one = "UPDATE items SET amount = 1 WHERE id = 1";
    fence(5).query(one).execute(&pool).await.unwrap();
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
}
