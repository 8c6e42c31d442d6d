//! A world to be explored: how many attempts, how long things last, what may go wrong, and what is claimed.

use crate::claim::{Claim, Reachable};
use crate::server::MOST;
use crate::times::Times;
use crate::weakening::Weakening;
use crate::world::{Budget, Mark, World};

/// Who decides when things happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nobody: every message and every process may be as slow as it likes, for ever included. A dead
    /// process is one that does nothing any more, and a lost message one that does not arrive.
    Free,
    /// Time does not pass while a message is on its way or a living client has something to do.
    Prompt,
}

/// What may go wrong, beside delays and what [`Budget`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Requests stay unanswered, and copies of them come later.
    pub late_copies: bool,
    /// Callers drop their acquires.
    pub cancels: bool,
    /// Programs that lock with `SET NX PX`, and release by comparing and deleting.
    pub foreign_lockers: bool,
    /// Others delete the lock's key, overwrite it, or make it expire.
    pub meddling: bool,
    /// Operators force the lock open.
    pub force: bool,
    /// Processes cannot be reached by what is published, for a while.
    pub deafness: bool,
    /// Holders write to a fenced resource, however late.
    pub writes: bool,
}

/// A world to be explored.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// How many attempts there are, three at most.
    pub attempts: usize,
    /// The process of each attempt.
    pub process_of: [u8; MOST],
    /// Who decides when things happen.
    pub pace: Pace,
    /// How long they last.
    pub times: Times,
    /// How long after a dead holder's lease somebody looks, at the latest: at once where every waiter is
    /// the first of its process.
    pub looks_after_expiry: u8,
    /// Whether one that comes while a task of its process holds the lock is parked, so that a release asks on its behalf.
    pub parks: bool,
    /// Whether a release and an acquire of one process may go to the server in one call.
    pub batches: bool,
    /// What may go wrong.
    pub faults: Faults,
    /// How often some of it may.
    pub budget: Budget,
    /// What holds all the same.
    pub claims: &'static [Claim],
    /// What must be possible, lest the claims hold for want of anything happening.
    pub reachable: &'static [Reachable],
    /// The rule that is left out.
    pub weakening: Option<Weakening>,
    /// What this run looks for; it ends there.
    pub looks_for: Option<Reachable>,
    /// Whether worlds that differ only in the attempts' names count as one.
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

    /// Notes that something has happened, if this run looks for it.
    pub(crate) fn see(&self, world: &mut World, reachable: Reachable) {
        if self.looks_for == Some(reachable) {
            world.mark(Mark::Reachable);
        }
    }

    pub(crate) fn is_prompt(&self) -> bool {
        self.pace == Pace::Prompt
    }

    /// How long after the end of a lease somebody looks who has just looked before it.
    pub(crate) fn missed_look(&self) -> u8 {
        self.times.refresh - 1
    }

    /// The bit of an attempt's process.
    pub(crate) fn process(&self, who: usize) -> u8 {
        1 << self.process_of[who]
    }

    pub(crate) fn everyone(&self) -> std::ops::Range<usize> {
        0..self.attempts
    }
}
