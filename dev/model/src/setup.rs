//! The world that is explored: its attempts, durations and possible faults, and the claims.

use crate::claim::{Claim, Reachable};
use crate::server::MOST;
use crate::times::Times;
use crate::weakening::Weakening;
use crate::world::{Budget, Mark, World};

/// When steps happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At any time: every message and process may take any time, even forever. A dead process is one that takes no more
    /// steps, and a lost message is one that never arrives.
    Free,
    /// Time does not pass while a message is in flight or a living client has something to do.
    Prompt,
}

/// Possible faults, in addition to delays and the faults in [`Budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Requests stay unanswered, and duplicates of them arrive later.
    pub late_copies: bool,
    /// Callers drop their acquires.
    pub cancels: bool,
    /// Programs acquire with `SET NX PX`, and release by comparing and deleting.
    pub foreign_lockers: bool,
    /// Other programs delete the lock's key, overwrite it, or make it expire.
    pub meddling: bool,
    /// Operators force-release the lock.
    pub force: bool,
    /// Processes miss published messages for a while.
    pub deafness: bool,
    /// Holders write to a fenced resource, possibly very late.
    pub writes: bool,
}

/// A world that is explored.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The name of the setup.
    pub name: &'static str,
    /// The purpose of the setup.
    pub about: &'static str,
    /// The number of attempts, at most three.
    pub attempts: usize,
    /// The process of each attempt.
    pub process_of: [u8; MOST],
    /// When steps happen.
    pub pace: Pace,
    /// The durations.
    pub times: Times,
    /// How long after the end of a dead holder's lease a waiter polls, at the latest. It is 0 if every waiter is the
    /// first of its process.
    pub looks_after_expiry: u8,
    /// Whether an attempt is parked while a task of its process holds the lock. A release then requests the lock for
    /// the attempt.
    pub parks: bool,
    /// Whether a release and an acquire of one process may share one call.
    pub batches: bool,
    /// Whether the attempts wait without an order, as the candidates of an election do.
    pub unfair: bool,
    /// Whether the attempts run a body once: a holder may record its outcome, and a kept outcome ends an attempt.
    pub once: bool,
    /// The possible faults.
    pub faults: Faults,
    /// The number of bounded faults.
    pub budget: Budget,
    /// The claims that hold despite the faults.
    pub claims: &'static [Claim],
    /// Events that must be possible, so that no claim holds only because nothing happens.
    pub reachable: &'static [Reachable],
    /// The rule that is left out.
    pub weakening: Option<Weakening>,
    /// The event that this run looks for. The run ends when it occurs.
    pub looks_for: Option<Reachable>,
    /// Whether worlds that differ only in the names of attempts count as one.
    pub anonymous: bool,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        late_copies: false,
        cancels: false,
        foreign_lockers: false,
        meddling: false,
        force: false,
        deafness: false,
        writes: false,
    };
}

impl Setup {
    pub(crate) fn without(&self, weakening: Weakening) -> bool {
        self.weakening == Some(weakening)
    }

    /// Records that an event has occurred, if this run looks for it.
    pub(crate) fn see(&self, world: &mut World, reachable: Reachable) {
        if self.looks_for == Some(reachable) {
            world.mark(Mark::Reachable);
        }
    }

    pub(crate) fn is_prompt(&self) -> bool {
        self.pace == Pace::Prompt
    }

    /// Returns the time from the end of a lease to the next poll of a waiter, if the waiter has polled just before the
    /// end.
    pub(crate) fn missed_look(&self) -> u8 {
        self.times.refresh - 1
    }

    /// Returns the bit of an attempt's process.
    pub(crate) fn process(&self, who: usize) -> u8 {
        1 << self.process_of[who]
    }

    pub(crate) fn everyone(&self) -> std::ops::Range<usize> {
        0..self.attempts
    }
}
