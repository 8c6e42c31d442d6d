//! The state of a world: one server, a few attempts, and the history that the claims need.

use crate::attempt::{Attempt, Phase};
use crate::server::{MOST, Row, Server};

/// Remaining faults, where their number is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// Attempts or processes that die.
    pub deaths: u8,
    /// Notifications that are lost.
    pub lost_hints: u8,
    /// Connections that break and come back.
    pub disconnections: u8,
    /// Foreign programs that acquire the lock.
    pub foreign: u8,
    /// Total losses of the server's data.
    pub memory_losses: u8,
    /// Ticks that a client's clock misses.
    pub lags: u8,
    /// Planned failovers: another server takes over while the old one continues.
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

/// An event that must never happen, or that a run looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mark {
    /// An attempt was granted before one that came earlier.
    Barged = 1,
    /// A renewal was accepted for an attempt without the lock, or after a later attempt had been granted.
    Revived = 2,
    /// The resource accepted a write after a write of a later holder.
    StaleWrite = 4,
    /// The event has occurred that this run looks for.
    Reachable = 8,
    /// The server accepted an outcome while it kept another one.
    SecondOutcome = 16,
    /// The server accepted an outcome under a token that was not the largest one.
    OlderOutcome = 32,
    /// The server granted the lock to an attempt while it kept an outcome.
    RunAgain = 64,
    /// The server confirmed an outcome that it has not accepted.
    ConfirmedWrongly = 128,
}

/// The state of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    /// The server that the clients use.
    pub(crate) server: Server,
    /// The new primary, before the clients follow.
    pub(crate) promoted: Option<Server>,
    /// The attempts. Unused attempts stay new.
    pub(crate) attempts: [Attempt; MOST],
    /// Processes that miss published messages, one bit each.
    pub(crate) deaf: u8,
    /// Processes that have died, one bit each.
    pub(crate) gone: u8,
    /// The attempts in the order of their arrival at the server, while it matters.
    pub(crate) came: Row,
    /// The attempts in the order in which they registered as waiters of their process.
    pub(crate) registered: Row,
    /// The server's clock as a token. It is later than at every earlier draw.
    pub(crate) clock: u8,
    /// The largest token that the resource has seen.
    pub(crate) highest_write: u8,
    /// The attempts whose writes the resource has accepted.
    pub(crate) writers: u8,
    /// The largest token of an accepted outcome.
    pub(crate) highest_outcome: u8,
    /// The attempts whose outcomes the server has accepted.
    pub(crate) recorded: u8,
    /// How long the lock has been without a living holder while an attempt waited.
    pub(crate) idle: u8,
    /// How long this may last after the faults so far.
    pub(crate) allowance: u8,
    /// The remaining faults.
    pub(crate) budget: Budget,
    /// The marks that were set.
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
            highest_outcome: 0,
            recorded: 0,
            idle: 0,
            allowance: 0,
            budget,
            marks: 0,
        }
    }

    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks |= mark as u8;
    }

    /// Returns whether the event has occurred.
    #[must_use]
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    /// Returns the attempts that have or had a guard.
    pub(crate) fn granted(&self) -> u8 {
        let mut granted = 0;
        for (who, attempt) in self.attempts.iter().enumerate() {
            granted |= u8::from(attempt.token > 0) << who;
        }
        granted
    }

    /// Ends an attempt for its process, and removes its queue positions.
    pub(crate) fn end(&mut self, who: usize, phase: Phase) {
        self.attempts[who].end(phase);
        self.came.remove(who);
        // A task that dies with its runtime does not remove its registration.
        if phase != Phase::Dead {
            self.registered.remove(who);
        }
    }
}
