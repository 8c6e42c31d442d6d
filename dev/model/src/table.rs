//! The table that `cargo run --release -p leasehold-model` prints.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::claim::Claim;
use crate::explore::{counterexample, explore};
use crate::search::Explored;
use crate::setups::{setups, weakened};
use crate::trace::Trace;
use crate::weakening::Weakening;
use crate::{quorum, setup};

/// One row of the table: a setup, the result of its exploration, and whether it is the expected one.
#[derive(Debug, Clone)]
pub struct Row {
    name: &'static str,
    explored: Explored,
    /// The claims that do not hold, each with the length of a shortest counterexample.
    broken: Vec<(Claim, usize)>,
    expected: &'static [Claim],
}

/// A setup of either model, with all rules or with one weakening.
#[derive(Debug, Clone, Copy)]
enum Job {
    Queue(setup::Setup),
    Quorum(quorum::Setup),
}

impl Job {
    fn row(&self) -> Row {
        match self {
            Self::Queue(it) => Row {
                name: it.weakening.map_or(it.name, Weakening::name),
                expected: it.weakening.map_or(&[], Weakening::breaks),
                ..Row::of(explore(it), |claim| counterexample(it, claim))
            },
            Self::Quorum(it) => Row {
                name: it.weakening.map_or(it.name, quorum::Weakening::name),
                expected: it.weakening.map_or(&[], quorum::Weakening::breaks),
                ..Row::of(quorum::explore(it), |claim| {
                    quorum::counterexample(it, claim)
                })
            },
        }
    }
}

impl Row {
    fn of(explored: Explored, counterexample: impl Fn(Claim) -> Option<Trace>) -> Self {
        let length = |&claim: &Claim| {
            let trace = counterexample(claim);
            (claim, trace.map_or(0, |it| it.steps()))
        };
        Self {
            name: "",
            broken: explored.violated.iter().map(length).collect(),
            explored,
            expected: &[],
        }
    }

    /// Returns whether exactly the expected claims hold.
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
            "{:<26}{states:>11}{steps:>12}{seconds:>8.1}  ",
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

/// Returns the heading of the table.
#[must_use]
pub fn heading() -> String {
    format!("{:<26}{:>11}{:>12}{:>8}", "", "states", "steps", "s")
}

/// Which worlds are explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The worlds of the tests.
    Usual,
    /// Only the larger worlds of the quorum.
    Large,
}

/// Explores every setup, and then every weakened one, with one thread per core. Calls `done` in this order.
pub fn all(extent: Extent, done: impl FnMut(&Row) + Send) -> Vec<Row> {
    let jobs = jobs(extent);
    let next = AtomicUsize::new(0);
    let ordered = Mutex::new(OrderedRows {
        rows: jobs.iter().map(|_| None).collect(),
        shown: 0,
        done,
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let row = job.row();
                    if let Ok(mut ordered) = ordered.lock() {
                        ordered.put(at, row);
                    }
                }
            });
        }
    });
    let ordered = ordered
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    ordered.rows.into_iter().flatten().collect()
}

fn jobs(extent: Extent) -> Vec<Job> {
    if extent == Extent::Large {
        let large = quorum::large_setups().into_iter();
        return large.map(Job::Quorum).collect();
    }
    let mut jobs: Vec<Job> = setups().into_iter().map(Job::Queue).collect();
    let weak = Weakening::ALL.iter().filter_map(|&it| weakened(it));
    jobs.extend(weak.map(Job::Queue));
    jobs.extend(quorum::setups().into_iter().map(Job::Quorum));
    let weak = quorum::Weakening::ALL.iter();
    let weak = weak.filter_map(|&it| quorum::weakened(it));
    jobs.extend(weak.map(Job::Quorum));
    jobs
}

/// Collects rows in any order, and shows them in the order of the table.
struct OrderedRows<F> {
    rows: Vec<Option<Row>>,
    shown: usize,
    done: F,
}

impl<F: FnMut(&Row)> OrderedRows<F> {
    fn put(&mut self, at: usize, row: Row) {
        self.rows[at] = Some(row);
        while let Some(Some(row)) = self.rows.get(self.shown) {
            (self.done)(row);
            self.shown += 1;
        }
    }
}
