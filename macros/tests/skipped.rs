//! A skipped call emits an event.
//!
//! This file has only one test, because `tracing` caches per process which subscribers are interested in an event.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use leasehold::{Error, LockManager, distributed_lock};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The name, level and key of each event.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<(String, Level, String)>>>);

impl<S: Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut key = Key::default();
        event.record(&mut key);
        let metadata = event.metadata();
        let seen = (metadata.name().to_owned(), *metadata.level(), key.0);
        self.0.lock().unwrap().push(seen);
    }
}

#[derive(Default)]
struct Key(String);

impl Visit for Key {
    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "lock.key" {
            value.clone_into(&mut self.0);
        }
    }
}

#[distributed_lock("report:{day}", manager = locks, contended = "skip")]
async fn report(locks: &LockManager, day: u32) -> Result<(), Error> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_skipped_call_leaves_an_event_and_one_that_ran_does_not() {
    let events = Events::default();
    let subscriber = tracing_subscriber::registry().with(events.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let skipped = || {
        let seen = events.0.lock().unwrap();
        let skipped = seen.iter().filter(|(name, ..)| name == "leasehold.skipped");
        skipped.cloned().collect::<Vec<_>>()
    };
    let locks = LockManager::in_process();
    report(&locks, 1).await.unwrap();
    assert_eq!(skipped(), []);
    let _held = locks.lock("report:2").acquire().await.unwrap();
    report(&locks, 2).await.unwrap();
    let expected = (
        "leasehold.skipped".to_owned(),
        Level::DEBUG,
        "report:2".to_owned(),
    );
    assert_eq!(skipped(), [expected]);
}
