//! The history of a run.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use leasehold_testkit::history::{Hold, Mode, Moment};

/// The actor of an event: the process, the number of its earlier starts, and the task.
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

/// The history of a call of `once`. Its body returns the call's number, or fails with it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) key: &'static str,
    pub(crate) called: Duration,
    /// When the body began.
    pub(crate) began: Option<Duration>,
    /// When the call ended, and how.
    pub(crate) end: Option<(Duration, RunEnd)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The result of a body.
    Value(u64),
    /// The failure of another caller's body.
    Failed(String),
    /// The body completed, and its result is not recorded.
    NotRecorded,
    /// Any other error, or an early end.
    Unknown,
}

/// Records the events of a run.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: String,
    pub(crate) holds: Vec<Hold>,
    /// The calls of `once`.
    pub(crate) runs: Vec<Run>,
    /// The times at which the server lost its data.
    pub(crate) forgotten: Vec<Duration>,
    pub(crate) counts: Counts,
}

/// Counts of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Granted locks.
    pub(crate) grants: u64,
    /// Lost guards.
    pub(crate) lost: u64,
    /// Futures that were dropped before their end.
    pub(crate) cut: u64,
    /// Acquires that timed out on a busy lock.
    pub(crate) busy: u64,
    /// Failed calls.
    pub(crate) failed: u64,
    /// Faults of the network, the server and the processes.
    pub(crate) faults: u64,
    /// Direct hand-offs inside a process, and those to parked waiters.
    pub(crate) passed: u64,
    pub(crate) parked: u64,
    /// Requests that reached the server in a batch with others.
    pub(crate) together: u64,
    /// Records of outcomes that the server confirmed, and those that it refused.
    pub(crate) recorded: u64,
    pub(crate) refused: u64,
    /// Calls of `once` that received the outcome of another call.
    pub(crate) found: u64,
    /// Terms in the election.
    pub(crate) led: u64,
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
            passed,
            parked,
            together,
            recorded,
            refused,
            found,
            led,
        } = self;
        write!(
            f,
            "grants {grants} lost {lost} cut {cut} busy {busy} failed {failed} faults {faults} passed {passed} parked {parked} together {together} recorded {recorded} refused {refused} found {found} led {led}"
        )
    }
}

impl History {
    pub(crate) fn note(&mut self, at: Duration, what: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _written = writeln!(self.lines, "{:>9.3} {what}", at.as_secs_f64());
    }

    /// Begins a call of `once`, and returns its number.
    pub(crate) fn call(&mut self, key: &'static str, called: Duration) -> usize {
        self.runs.push(Run {
            key,
            called,
            began: None,
            end: None,
        });
        self.runs.len() - 1
    }

    /// Begins a held lock, and returns its number.
    pub(crate) fn begin(
        &mut self,
        who: Who,
        (key, mode, token): (&str, Mode, Option<i64>),
        asked: Duration,
        at: Duration,
    ) -> usize {
        self.counts.grants += 1;
        let index = self.holds.len();
        self.holds.push(Hold {
            number: (who.process as u64) << 32 | index as u64,
            key: key.to_owned(),
            mode,
            token,
            requested_at: moment(asked),
            granted_at: moment(at),
            until: Moment(u64::MAX),
            ended: false,
        });
        index
    }

    pub(crate) fn end(&mut self, hold: usize, at: Duration) {
        self.holds
            .get_mut(hold)
            .into_iter()
            .for_each(|it| end(it, at));
    }

    /// Ends everything that the process held.
    pub(crate) fn killed(&mut self, process: usize, at: Duration) {
        let its = self.holds.iter_mut();
        its.filter(|it| it.number >> 32 == process as u64)
            .for_each(|it| end(it, at));
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

/// The result of a seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The violations, each as a sentence.
    pub(crate) violations: Vec<String>,
    /// The hash of the whole history.
    pub(crate) hash: u64,
    /// The counts of events.
    pub(crate) counts: Counts,
    /// The events, one per line.
    pub(crate) lines: String,
}

fn end(hold: &mut Hold, at: Duration) {
    if !hold.ended {
        (hold.until, hold.ended) = (moment(at), true);
    }
}

/// Returns the moment at this time after the beginning.
pub(crate) fn moment(at: Duration) -> Moment {
    Moment(at.as_nanos().try_into().unwrap_or(u64::MAX))
}
