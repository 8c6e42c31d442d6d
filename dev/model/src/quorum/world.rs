//! The state of a world: the nodes, a few rounds, and the history that the claims need.

use super::node::{Flag, Line, MOST_NODES, MOST_ROUNDS, Node};

/// The progress of a round: one attempt to acquire the lock, with its own id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// Nothing was sent.
    New,
    /// The request was sent to all nodes, and answers arrive.
    Asking,
    /// A quorum has granted, the token is chosen, and nodes with a smaller token are raised.
    Raising,
    /// Has a guard, valid or lost.
    Holding,
    /// Repeats its release at every node until it is answered.
    Leaving,
    /// Every node has answered the release.
    Over,
}

/// One round, as known by its client. A client that tries again begins a new round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Round {
    pub(crate) phase: Phase,
    /// The token, after it was chosen.
    pub(crate) token: u8,
    /// Whether the round ever had a guard.
    pub(crate) granted: bool,
    /// The number of nodes that must agree.
    pub(crate) need: u8,
    /// How long the guard is valid, or would be valid if it were created now.
    pub(crate) left: u8,
    /// Whether an extension is in flight.
    pub(crate) extending: bool,
    /// How long the guard is valid if the extension succeeds.
    pub(crate) extends_to: u8,
    /// Whether a later round had been granted when the extension was sent.
    pub(crate) extends_late: bool,
    /// The time until duplicates of the acquires expire.
    pub(crate) life: u8,
    /// The rounds that had been granted before this one began, one bit each.
    pub(crate) after: u8,
}

impl Round {
    pub(crate) const NEW: Self = Self {
        phase: Phase::New,
        token: 0,
        granted: false,
        need: 0,
        left: 0,
        extending: false,
        extends_to: 0,
        extends_late: false,
        life: 0,
        after: 0,
    };
}

/// Remaining faults, where their number is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// Crashes of nodes, which lose their data or return to their saved state.
    pub crashes: u8,
    /// States that nodes save, and to which they return after a crash.
    pub saves: u8,
    /// Ticks that a client's clock misses.
    pub lags: u8,
}

impl Budget {
    pub(crate) const NONE: Self = Self {
        crashes: 0,
        saves: 0,
        lags: 0,
    };
}

/// An event that must never happen, or that a run looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mark {
    /// A quorum accepted an extension that was sent after a later round had been granted.
    Revived = 1,
    /// The resource accepted a write after a write of a later holder.
    StaleWrite = 2,
    /// The event has occurred that this run looks for.
    Reachable = 4,
}

/// The state of a world. Unused nodes and rounds stay new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    pub(crate) nodes: [Node; MOST_NODES],
    pub(crate) rounds: [Round; MOST_ROUNDS],
    /// The time as a token, where clocks are bounded.
    pub(crate) now: u8,
    /// The largest token that the resource has seen.
    pub(crate) highest_write: u8,
    /// The rounds whose writes the resource has accepted.
    pub(crate) writers: u8,
    /// The remaining faults.
    pub(crate) budget: Budget,
    marks: u8,
}

impl World {
    pub(crate) const fn new(budget: Budget) -> Self {
        Self {
            nodes: [Node::NEW; MOST_NODES],
            rounds: [Round::NEW; MOST_ROUNDS],
            now: 0,
            highest_write: 0,
            writers: 0,
            budget,
            marks: 0,
        }
    }

    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks |= mark as u8;
    }

    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    pub(crate) fn line(&mut self, who: usize, node: usize) -> &mut Line {
        &mut self.nodes[node].lines[who]
    }

    /// Returns how many nodes have this flag for a round.
    pub(crate) fn count(&self, who: usize, flag: Flag) -> u8 {
        let mut count = 0;
        for node in &self.nodes {
            count += u8::from(node.lines[who].has(flag));
        }
        count
    }

    /// Returns the rounds that have or had a guard.
    pub(crate) fn granted(&self) -> u8 {
        let mut granted = 0;
        for (who, round) in self.rounds.iter().enumerate() {
            granted |= u8::from(round.granted) << who;
        }
        granted
    }

    /// Visits every token.
    pub(crate) fn each_token(&mut self, mut visit: impl FnMut(&mut u8)) {
        for node in &mut self.nodes {
            visit(&mut node.keys.counter);
            if let Some(saved) = &mut node.saved {
                visit(&mut saved.counter);
            }
            for line in &mut node.lines {
                visit(&mut line.grant);
            }
        }
        for round in &mut self.rounds {
            visit(&mut round.token);
        }
        visit(&mut self.highest_write);
    }
}
