//! What happened in a run.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use leasehold_testkit::history::{Hold, Mode, Moment};

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
    /// Locks that a release has passed on inside a process, and those of them whose new owner was parked.
    pub(crate) passed: u64,
    pub(crate) parked: u64,
    /// Requests that came to the server with another one.
    pub(crate) together: u64,
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
        } = self;
        write!(
            f,
            "grants {grants} lost {lost} cut {cut} busy {busy} failed {failed} faults {faults} passed {passed} parked {parked} together {together}"
        )
    }
}

impl History {
    pub(crate) fn note(&mut self, at: Duration, what: impl fmt::Display) {
        // Writing to a string does not fail.
        let _written = writeln!(self.lines, "{:>9.3} {what}", at.as_secs_f64());
    }

    /// Begins a hold, and answers its number.
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

    /// Whatever the process held ends with it.
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

fn end(hold: &mut Hold, at: Duration) {
    if !hold.ended {
        (hold.until, hold.ended) = (moment(at), true);
    }
}

/// The moment that is so long after the beginning.
pub(crate) fn moment(at: Duration) -> Moment {
    Moment(at.as_nanos().try_into().unwrap_or(u64::MAX))
}
