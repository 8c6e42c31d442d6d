//! The results of a cell.

use std::time::Duration;

use super::place::Cell;
use crate::data::is_pool;

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
    /// The results of the writes without a fence.
    pub control: Control,
}

/// The results of the writes of one kind of data without a fence, through a plain pool.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// The kind of data.
    pub kind: &'static str,
    /// Confirmed changes that are lost.
    pub lost: usize,
    /// Writes after a write with a newer token.
    pub stale: usize,
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
        if kind.control_loses(fault) {
            let controls: Vec<Control> = self.stores.iter().map(|it| it.control).collect();
            found.extend(unproven(&controls).map(str::to_owned));
        }
        found
    }
}

/// Returns why the run proves nothing, if the control did not fail. The pools have their own control, because their
/// holders differ: a single statement and a transaction must both fail without the fenced pool.
pub(super) fn unproven(controls: &[Control]) -> impl Iterator<Item = &'static str> {
    let count = |of_pools: bool, of: fn(&Control) -> usize| -> usize {
        let own = controls.iter().filter(|it| is_pool(it.kind) == of_pools);
        own.map(of).sum()
    };
    let reasons = [
        (
            count(false, |it| it.lost),
            "nothing was lost without a fence, so this proves nothing",
        ),
        (
            count(true, |it| it.lost),
            "nothing was lost through a plain pool, so this proves nothing of fenced pools",
        ),
        (
            count(true, |it| it.stale),
            "no statement through a plain pool was stale, so this proves nothing of fenced pools",
        ),
    ];
    reasons.into_iter().filter(|it| it.0 == 0).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn control(kind: &'static str, lost: usize, stale: usize) -> Control {
        Control { kind, lost, stale }
    }

    #[test]
    fn run_is_conclusive_only_if_each_control_fails() {
        let count = |controls: &[Control]| unproven(controls).count();
        let (hand, pool) = (control("redis", 1, 0), control("sqlite-pool", 1, 1));
        assert_eq!(count(&[hand, pool]), 0);
        assert_eq!(count(&[control("redis", 0, 1), pool]), 1);
        assert_eq!(count(&[hand, control("sqlite-pool", 0, 1)]), 1);
        assert_eq!(count(&[hand, control("sqlite-pool", 1, 0)]), 1);
        assert_eq!(count(&[]), 3);
    }
}
