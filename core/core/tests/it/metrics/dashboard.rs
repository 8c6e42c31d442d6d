//! The dashboard and the alert rules of the guide use the metrics that exist, under the names that the exporter gives
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use leasehold::LockManager;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::Value;

use super::{record, typical_operations};

/// The endings of the series of a histogram.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

fn guide(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operate");
    fs::read_to_string(folder.join(file)).unwrap()
}

/// Collects the names of all metrics that a manager describes, with the endings of their series.
#[derive(Default)]
struct Described(Mutex<BTreeMap<String, &'static [&'static str]>>);

impl Described {
    fn add(&self, name: &KeyName, endings: &'static [&'static str]) {
        let name = name.as_str().replace('.', "_");
        self.0.lock().unwrap().insert(name, endings);
    }
}

impl Recorder for Described {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &[""]);
    }
    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &[""]);
    }
    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &PARTS);
    }
    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// Returns the series of each metric.
fn series() -> BTreeMap<String, BTreeSet<String>> {
    let described = Arc::new(Described::default());
    with_local_recorder(&described, || drop(LockManager::in_process()));
    let described = described.0.lock().unwrap();
    let names = described.iter().map(|(name, endings)| {
        let series = endings.iter().map(|ending| format!("{name}{ending}"));
        (name.clone(), series.collect())
    });
    names.collect()
}

/// Returns the words of a text that begin like our metrics.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("leasehold_"));
    metrics.map(str::to_owned).collect()
}

/// Returns the values of all fields with one of these names.
fn fields<'a>(json: &'a Value, names: &[&str]) -> Vec<&'a str> {
    match json {
        Value::Object(object) => {
            let own = names.iter().filter_map(|name| object.get(*name)?.as_str());
            let inner = object.values().flat_map(|it| fields(it, names));
            own.chain(inner).collect()
        }
        Value::Array(array) => array.iter().flat_map(|it| fields(it, names)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the queries of the dashboard.
fn expressions() -> String {
    let json: Value = serde_json::from_str(&guide("dashboard.json")).unwrap();
    fields(&json, &["expr", "query", "definition"]).join("\n")
}

#[test]
fn the_dashboard_shows_all_metrics_and_no_others() {
    let (series, shown) = (series(), metrics_in(&expressions()));
    assert!(series.len() >= 10, "{series:?}");
    let all: BTreeSet<String> = series.values().flatten().cloned().collect();
    let unknown: Vec<_> = shown.difference(&all).collect();
    assert!(unknown.is_empty(), "the dashboard shows {unknown:?}");
    let missing = series
        .iter()
        .filter(|(_, parts)| shown.is_disjoint(parts))
        .map(|(name, _)| name);
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "the dashboard lacks {missing:?}");
}

#[test]
fn the_alert_rules_use_metrics_that_exist() {
    let all: BTreeSet<String> = series().into_values().flatten().collect();
    let used = metrics_in(&guide("alerts.yml"));
    let unknown: Vec<_> = used.difference(&all).collect();
    assert!(used.len() > 3 && unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_guide_explains_each_alert() {
    let (rules, page) = (guide("alerts.yml"), guide("../12-operate.md"));
    let alerts = rules
        .lines()
        .filter_map(|it| it.trim().strip_prefix("- alert: "));
    let alerts: BTreeSet<&str> = alerts.collect();
    let rows = page
        .lines()
        .filter_map(|it| it.strip_prefix("| `Leasehold"));
    let rows = rows.map(|it| format!("Leasehold{}", it.split('`').next().unwrap()));
    let rows: BTreeSet<String> = rows.collect();
    assert!(!alerts.is_empty());
    assert_eq!(rows, alerts.iter().map(|it| (*it).to_owned()).collect());
}

/// Returns the values that the crate's documentation lists for a label.
fn documented(rows: &[&str]) -> BTreeSet<String> {
    let docs = include_str!("../../../../src/lib.rs");
    let rows = rows.iter().map(|row| {
        let row = format!("//! | {row} |");
        docs.lines().find(|line| line.starts_with(&row)).unwrap()
    });
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_the_alert_rules_select_documented_values_of_labels() {
    let text = expressions() + &guide("alerts.yml");
    for (label, rows) in [
        ("outcome", &["acquires", "renewals", "releases"][..]),
        ("reason", &["ends of a lease"]),
        ("command", &["failures"]),
    ] {
        let documented = documented(rows);
        let mut values = BTreeSet::new();
        for operator in ["=", "=~", "!=", "!~"] {
            let selector = format!("{label}{operator}\"");
            let selected = text
                .split(&selector)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap());
            values.extend(selected.flat_map(|it| it.split('|')).map(str::to_owned));
        }
        let unknown: Vec<_> = values.difference(&documented).collect();
        assert!(unknown.is_empty(), "{label}: {unknown:?}");
        assert!(label == "command" || !values.is_empty(), "{label}");
    }
}

#[test]
fn the_exporter_uses_the_described_metric_names() {
    let buckets = PrometheusBuilder::new().set_buckets(&[1.0]).unwrap();
    let recorder = buckets.build_recorder();
    let exporter = recorder.handle();
    record(&recorder, typical_operations::a_life());
    let text = exporter.render();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let exported: BTreeSet<String> = lines.flat_map(metrics_in).collect();
    let all: BTreeSet<String> = series().into_values().flatten().collect();
    let unknown: Vec<_> = exported.difference(&all).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for ending in ["acquires", "held_locks", "hold_duration_bucket"] {
        assert!(exported.contains(&format!("leasehold_{ending}")), "{text}");
    }
}
