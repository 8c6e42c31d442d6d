//! The results of a cell.

use std::time::Duration;

use super::place::Cell;

/// The results of a cell.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The cell.
    pub cell: Cell,
    /// The number of faults.
    pub strikes: u32,
    /// The duration of the run.
    pub took: Duration,
    /// The number of grants.
    pub holds: usize,
    /// Pairs of processes that held one lock concurrently.
    pub overlaps: Vec<String>,
    /// Tokens that were drawn twice or out of order.
    pub tokens: Vec<String>,
    /// Other failures.
    pub wrong: Vec<String>,
    /// The results for each kind of data.
    pub stores: Vec<OfStore>,
}

/// The results for one kind of data.
#[derive(Debug, Clone)]
pub struct OfStore {
    /// The kind of data.
    pub kind: &'static str,
    /// Fenced changes that were confirmed.
    pub applied: usize,
    /// Fenced changes that were refused.
    pub refused: usize,
    /// Fenced changes with an unknown result.
    pub unknown: usize,
    /// The reasons why the data cannot be the result of the changes.
    pub violations: Vec<String>,
    /// Confirmed changes without a fence that are lost.
    pub control_lost: usize,
    /// Writes without a fence after a write with a newer token.
    pub control_stale: usize,
}

impl Verdict {
    /// Returns the violated guarantees, and the reasons why the run proves nothing.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut found = self.wrong.clone();
        for store in &self.stores {
            let told = store.violations.iter();
            found.extend(told.map(|why| format!("{}: {why}", store.kind)));
        }
        let Cell { kind, fault, .. } = self.cell;
        if kind.excludes(fault) {
            found.extend(self.overlaps.iter().cloned());
        }
        found.extend(self.tokens.iter().cloned());
        let control: usize = self.stores.iter().map(|it| it.control_lost).sum();
        if kind.control_loses(fault) && control == 0 {
            found.push("nothing was lost without a fence, so this proves nothing".to_owned());
        }
        found
    }
}
