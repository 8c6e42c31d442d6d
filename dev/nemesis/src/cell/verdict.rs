//! What was seen in a cell.

use std::time::Duration;

use super::place::Cell;

/// What was seen in a cell.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Which one.
    pub cell: Cell,
    /// How often the nemesis struck.
    pub strikes: u32,
    /// How long it took.
    pub took: Duration,
    /// How often a lock was granted.
    pub holds: usize,
    /// Two who believed that they had one lock.
    pub overlaps: Vec<String>,
    /// Tokens that were drawn twice, or out of order.
    pub tokens: Vec<String>,
    /// What else went wrong.
    pub wrong: Vec<String>,
    /// What became of each kind of data.
    pub stores: Vec<OfStore>,
}

/// What became of one kind of data.
#[derive(Debug, Clone)]
pub struct OfStore {
    /// Which one.
    pub kind: &'static str,
    /// Fenced changes that were confirmed.
    pub applied: usize,
    /// Fenced changes that were refused.
    pub refused: usize,
    /// Fenced changes of which nothing is known.
    pub unknown: usize,
    /// Why what is there cannot be.
    pub violations: Vec<String>,
    /// Changes without a fence that were confirmed and are lost.
    pub control_lost: usize,
    /// Writes without a fence that followed one with a newer token.
    pub control_stale: usize,
}

impl Verdict {
    /// What is not as it is promised, or proves nothing.
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
