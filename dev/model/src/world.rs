//! The state of a world: one server, a few attempts, and what an onlooker remembers.

use crate::attempt::{Attempt, Phase};
use crate::server::{MOST, Row, Server};

/// Faults that may still happen, where their number is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// Attempts, or processes, that fall silent.
    pub deaths: u8,
    /// Wake-ups that are sent and do not arrive.
    pub lost_hints: u8,
    /// Connections that break and come back.
    pub disconnections: u8,
    /// Foreign programs that take the lock.
    pub foreign: u8,
    /// Times that the server forgets everything.
    pub memory_losses: u8,
    /// Ticks that a client's clock misses.
    pub lags: u8,
    /// Planned failovers: another server takes over while the old one goes on serving.
    pub promotions: u8,
}

impl Budget {
    pub(crate) const NONE: Self = Self {
        deaths: 0,
        lost_hints: 0,
        disconnections: 0,
        foreign: 0,
        memory_losses: 0,
        lags: 0,
        promotions: 0,
    };
}

/// Something that must never have happened, or that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mark {
    /// An attempt was granted before one that came earlier.
    Barged = 1,
    /// A renewal was accepted for one without the lock, or although a later attempt had been granted.
    Revived = 2,
    /// The resource took a write after one of a later holder.
    StaleWrite = 4,
    /// What a run that looks for a `Reachable` has seen.
    Reachable = 8,
}

/// The state of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    /// The server that the clients use.
    pub(crate) server: Server,
    /// The new primary, to which no client has followed yet.
    pub(crate) promoted: Option<Server>,
    /// The attempts; those beyond the setup's number stay new.
    pub(crate) attempts: [Attempt; MOST],
    /// Processes that do not hear what is published, one bit each.
    pub(crate) deaf: u8,
    /// Processes that have died.
    pub(crate) gone: u8,
    /// The attempts in the order in which the server first heard of them, while they matter.
    pub(crate) came: Row,
    /// The attempts in the order in which they registered as waiters of their process.
    pub(crate) registered: Row,
    /// The server's clock, as the tokens see it: later than at every draw before.
    pub(crate) clock: u8,
    /// The highest token that the resource has seen,
    pub(crate) highest_write: u8,
    /// and whose writes it took.
    pub(crate) writers: u8,
    /// For how long the lock has been in no living hands while somebody waited.
    pub(crate) idle: u8,
    /// For how long it may be, after the faults so far.
    pub(crate) allowance: u8,
    /// What may still go wrong.
    pub(crate) budget: Budget,
    /// Marks that were set.
    pub(crate) marks: u8,
}

impl World {
    pub(crate) const fn new(budget: Budget) -> Self {
        Self {
            server: Server::EMPTY,
            promoted: None,
            attempts: [Attempt::NEW; MOST],
            deaf: 0,
            gone: 0,
            came: Row::EMPTY,
            registered: Row::EMPTY,
            clock: 0,
            highest_write: 0,
            writers: 0,
            idle: 0,
            allowance: 0,
            budget,
            marks: 0,
        }
    }

    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks |= mark as u8;
    }

    /// Whether it has happened.
    #[must_use]
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    /// The attempts that had a guard, or have one.
    pub(crate) fn granted(&self) -> u8 {
        let mut granted = 0;
        for (who, attempt) in self.attempts.iter().enumerate() {
            granted |= u8::from(attempt.token > 0) << who;
        }
        granted
    }

    /// Ends an attempt for its process, which gives up its seat.
    pub(crate) fn end(&mut self, who: usize, phase: Phase) {
        self.attempts[who].end(phase);
        self.came.remove(who);
        // A task that dies with its runtime cleans nothing up, its registration included.
        if phase != Phase::Dead {
            self.registered.remove(who);
        }
    }
}
