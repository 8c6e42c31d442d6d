//! The table that `cargo run --release -p leasehold-model` prints.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::claim::Claim;
use crate::run::{Explored, counterexample, explore};
use crate::setup::Setup;
use crate::setups::{setups, weakened};
use crate::weakening::Weakening;

/// One line of the table: a setup, what its state space shows, and whether that is what it should.
#[derive(Debug, Clone)]
pub struct Row {
    name: &'static str,
    explored: Explored,
    /// The claims that do not hold, with the length of a shortest counterexample.
    broken: Vec<(Claim, usize)>,
    expected: &'static [Claim],
}

impl Row {
    fn of(setup: &Setup) -> Self {
        let explored = explore(setup);
        let length = |&claim: &Claim| {
            let trace = counterexample(setup, claim);
            (claim, trace.map_or(0, |it| it.steps()))
        };
        let broken = explored.violated.iter().map(length).collect();
        Self {
            name: setup.weakening.map_or(setup.name, Weakening::name),
            explored,
            broken,
            expected: setup.weakening.map_or(&[], Weakening::breaks),
        }
    }

    /// Whether all holds that should, and nothing else.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        let violated = &self.explored.violated;
        violated.len() == self.expected.len()
            && self.expected.iter().all(|it| violated.contains(it))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explored {
            steps,
            states,
            took,
            ..
        } = &self.explored;
        let seconds = took.as_secs_f64();
        write!(
            f,
            "{:<22}{states:>11}{steps:>12}{seconds:>8.1}  ",
            self.name
        )?;
        if self.broken.is_empty() {
            write!(f, "holds")?;
        }
        for (at, (claim, length)) in self.broken.iter().enumerate() {
            let comma = if at == 0 { "violated: " } else { ", " };
            write!(f, "{comma}{} in {length} steps", claim.name())?;
        }
        if self.is_as_expected() {
            Ok(())
        } else {
            write!(f, "  NOT AS EXPECTED")
        }
    }
}

/// The heading of the table.
#[must_use]
pub fn heading() -> String {
    format!("{:<22}{:>11}{:>12}{:>8}", "", "states", "steps", "s")
}

/// Every setup, then every weakened one, as many at a time as there are cores. `done` sees them in this order.
pub fn all(done: impl FnMut(&Row) + Send) -> Vec<Row> {
    let mut jobs = setups();
    jobs.extend(Weakening::ALL.iter().filter_map(|&it| weakened(it)));
    let next = AtomicUsize::new(0);
    let desk = Mutex::new(Desk {
        rows: jobs.iter().map(|_| None).collect(),
        shown: 0,
        done,
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(setup) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = Row::of(setup);
                    let at = jobs.iter().position(|it| std::ptr::eq(it, setup));
                    if let (Some(at), Ok(mut desk)) = (at, desk.lock()) {
                        desk.put(at, row);
                    }
                }
            });
        }
    });
    let desk = desk
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    desk.rows.into_iter().flatten().collect()
}

/// Rows come in any order and are shown in theirs.
struct Desk<F> {
    rows: Vec<Option<Row>>,
    shown: usize,
    done: F,
}

impl<F: FnMut(&Row)> Desk<F> {
    fn put(&mut self, at: usize, row: Row) {
        self.rows[at] = Some(row);
        while let Some(Some(row)) = self.rows.get(self.shown) {
            (self.done)(row);
            self.shown += 1;
        }
    }
}
