//! What happened in a run.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Who did something: the process, how often it was started before, and its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) process: usize,
    pub(crate) life: u32,
    pub(crate) task: usize,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.process, self.life, self.task)
    }
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
    /// One of so many permits.
    Permit {
        of: usize,
    },
}

/// Something that somebody believed to hold.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) who: Who,
    pub(crate) key: &'static str,
    pub(crate) mode: Mode,
    /// None for a permit, which has none that orders it.
    pub(crate) token: Option<i64>,
    pub(crate) asked: Duration,
    pub(crate) from: Duration,
    /// None while it is held.
    pub(crate) until: Option<Duration>,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            key,
            mode,
            token,
            asked,
            from,
            until,
        } = self;
        write!(
            f,
            "{who} held {key} ({mode:?}, token {token:?}), asked at {asked:?}, from {from:?} "
        )?;
        match until {
            Some(until) => write!(f, "until {until:?}"),
            None => f.write_str("to the end"),
        }
    }
}

/// What happened, as it happens.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: String,
    pub(crate) holds: Vec<Hold>,
    /// When the server forgot its data.
    pub(crate) forgotten: Vec<Duration>,
    pub(crate) counts: Counts,
}

/// How often what happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Locks granted.
    pub(crate) grants: u64,
    /// Guards that were lost.
    pub(crate) lost: u64,
    /// Futures that were dropped before they had ended.
    pub(crate) cut: u64,
    /// Acquires that found the lock busy until they gave up.
    pub(crate) busy: u64,
    /// Calls that failed.
    pub(crate) failed: u64,
    /// Things done to the network, the server and the processes.
    pub(crate) faults: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            grants,
            lost,
            cut,
            busy,
            failed,
            faults,
        } = self;
        write!(
            f,
            "grants {grants} lost {lost} cut {cut} busy {busy} failed {failed} faults {faults}"
        )
    }
}

impl History {
    pub(crate) fn note(&mut self, at: Duration, what: impl fmt::Display) {
        // Writing to a string does not fail.
        let _written = writeln!(self.lines, "{:>9.3} {what}", at.as_secs_f64());
    }

    /// Begins a hold, and answers its number.
    pub(crate) fn begin(&mut self, hold: Hold) -> usize {
        self.counts.grants += 1;
        self.holds.push(hold);
        self.holds.len() - 1
    }

    pub(crate) fn end(&mut self, hold: usize, at: Duration) {
        if let Some(hold) = self.holds.get_mut(hold) {
            hold.until.get_or_insert(at);
        }
    }

    /// Whatever the process held ends with it.
    pub(crate) fn killed(&mut self, process: usize, at: Duration) {
        let its = self.holds.iter_mut().filter(|it| it.who.process == process);
        its.for_each(|hold| {
            hold.until.get_or_insert(at);
        });
    }

    pub(crate) fn outcome(self, violations: Vec<String>) -> Outcome {
        let mut hasher = DefaultHasher::new();
        self.lines.hash(&mut hasher);
        Outcome {
            violations,
            hash: hasher.finish(),
            counts: self.counts,
            lines: self.lines,
        }
    }
}

/// What came of a seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What must not be, each in a sentence.
    pub(crate) violations: Vec<String>,
    /// Of the whole history.
    pub(crate) hash: u64,
    /// How often what happened.
    pub(crate) counts: Counts,
    /// What happened, a line each.
    pub(crate) lines: String,
}
