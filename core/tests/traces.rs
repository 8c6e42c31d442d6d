//! The names that traces carry are part of the public API.
//!
//! One test, in a binary of its own: `tracing` remembers per process who is interested in what.

mod life;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Spans and events with their fields, in the order in which they came; a span's later records too.
#[derive(Clone, Default)]
struct Traces(Arc<Mutex<Vec<Trace>>>);

/// A name, and fields as text.
type Trace = (String, BTreeMap<String, String>);

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
        self.push(event.metadata().name(), fields);
    }
}

impl Traces {
    fn push(&self, name: &str, fields: Fields) {
        if let Ok(mut seen) = self.0.lock() {
            seen.push((name.to_owned(), fields.0));
        }
    }

    /// All fields ever seen under `name`; the last value of each.
    fn fields(&self, name: &str) -> BTreeMap<String, String> {
        let seen = self.0.lock().map(|seen| seen.clone()).unwrap_or_default();
        let matching = seen.into_iter().filter(|(n, _)| n == name);
        matching.flat_map(|(_, fields)| fields).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn spans_and_events_have_stable_names_and_fields() {
    let traces = Traces::default();
    let subscriber = tracing_subscriber::registry().with(traces.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    life::a_life().await;

    let acquire = traces.fields("leasehold.acquire");
    for field in [
        "lock.key",
        "lock.ttl",
        "lock.owner",
        "lock.token",
        "lock.outcome",
    ] {
        assert!(acquire.contains_key(field), "{field} in {acquire:?}");
    }
    for (event, field, value) in [
        ("leasehold.renewed", "lock.key", "order:42"),
        (
            "leasehold.release_failed",
            "error",
            "a planned loss of the answer",
        ),
        ("leasehold.released", "lock.outcome", "released"),
        ("leasehold.given_up", "lock.key", "order:42"),
        ("leasehold.cleaned_up", "lock.key", "order:42"),
        ("leasehold.lost", "reason", "gone"),
    ] {
        let fields = traces.fields(event);
        assert_eq!(
            fields.get(field).map(String::as_str),
            Some(value),
            "{event}: {fields:?}"
        );
    }
}
