//! The table.

use serde_json::{Value, json};

use crate::cell::{OfStore, Verdict};
use crate::data::STORES;

/// The maximum number of shown failures of a cell.
const WORTH_SHOWING: usize = 5;

/// Returns the heading of the table, with the meaning of its columns.
#[must_use]
pub fn head() -> String {
    let stores: Vec<String> = STORES.iter().map(|it| format!("{it:<27}")).collect();
    let stores = stores.join(" | ");
    format!(
        "of each kind of data: fenced changes confirmed, refused, unknown ! violations | without a fence: lost, stale\n\
         {:<16} {:<20} {:>7} {:>6} {:>6} {:>8} {:>6} | {stores}",
        "locks", "fault", "strikes", "time", "holds", "overlaps", "tokens"
    )
}

/// Returns a cell as a line. A violated guarantee has an exclamation mark.
#[must_use]
pub fn line(verdict: &Verdict) -> String {
    let cell = &verdict.cell;
    let mark = |broken: bool| if broken { "!" } else { "" };
    let overlaps = verdict.overlaps.len();
    let promised = cell.kind.excludes(cell.fault);
    let overlaps = format!("{}{overlaps}", mark(promised && overlaps > 0));
    let tokens = verdict.tokens.len();
    let tokens = format!("{}{tokens}", mark(tokens > 0));
    let stores: Vec<String> = verdict.stores.iter().map(of_store).collect();
    format!(
        "{:<16} {:<20} {:>7} {:>5.1}s {:>6} {overlaps:>8} {tokens:>6} | {}",
        cell.kind,
        cell.fault,
        verdict.strikes,
        verdict.took.as_secs_f64(),
        verdict.holds,
        stores.join(" | ")
    )
}

fn of_store(store: &OfStore) -> String {
    format!(
        "{:>4} {:>3} {:>3} !{:<2} | {:>3} {:>3}",
        store.applied,
        store.refused,
        store.unknown,
        store.violations.len(),
        store.control.lost,
        store.control.stale
    )
}

/// Returns the failures of a cell, one per line.
#[must_use]
pub fn faults(verdict: &Verdict) -> Vec<String> {
    let found = verdict.faults();
    let name = verdict.cell.name();
    let mut lines: Vec<String> = found.iter().take(WORTH_SHOWING).cloned().collect();
    if found.len() > WORTH_SHOWING {
        lines.push(format!("… and {} more", found.len() - WORTH_SHOWING));
    }
    lines.iter().map(|it| format!("{name}: {it}")).collect()
}

/// Returns a cell as JSON.
#[must_use]
pub fn object(verdict: &Verdict) -> Value {
    let stores = verdict.stores.iter().map(|store| {
        json!({
            "store": store.kind,
            "applied": store.applied,
            "refused": store.refused,
            "unknown": store.unknown,
            "violations": store.violations.len(),
            "control_lost": store.control.lost,
            "control_stale": store.control.stale,
        })
    });
    json!({
        "locks": verdict.cell.kind.name(),
        "fault": verdict.cell.fault.name(),
        "strikes": verdict.strikes,
        "seconds": verdict.took.as_secs_f64(),
        "holds": verdict.holds,
        "overlaps": verdict.overlaps.len(),
        "exclusion_promised": verdict.cell.kind.excludes(verdict.cell.fault),
        "tokens_out_of_order": verdict.tokens.len(),
        "stores": stores.collect::<Vec<_>>(),
        "faults": verdict.faults(),
    })
}
