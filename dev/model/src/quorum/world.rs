//! The state of a world: the nodes, a few rounds, and what an onlooker remembers.

use super::node::{Flag, Line, MOST_NODES, MOST_ROUNDS, Node};

/// How far a round has come: one try to acquire the lock, under an id of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// Nothing was sent.
    New,
    /// All nodes were asked, and answers come in.
    Asking,
    /// A quorum has granted, the token is chosen, and nodes that are below it are being raised.
    Raising,
    /// Has a guard, valid or lost.
    Holding,
    /// Sends its release to every node, until that is answered.
    Leaving,
    /// Every node has answered the release.
    Over,
}

/// One round, as its client knows it. A client that tries again does so in a new round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Round {
    pub(crate) phase: Phase,
    /// The token, once it is chosen.
    pub(crate) token: u8,
    /// Whether there ever was a guard.
    pub(crate) granted: bool,
    /// How many nodes have to agree.
    pub(crate) need: u8,
    /// For how long the guard may be relied on, or could if it were made now.
    pub(crate) left: u8,
    /// Whether an extension is under way,
    pub(crate) extending: bool,
    /// for how long the guard may be relied on if it succeeds,
    pub(crate) extends_to: u8,
    /// and whether a later round had been granted when it was sent.
    pub(crate) extends_late: bool,
    /// How long until copies of its acquires expire.
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

/// Faults that may still happen, where their number is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// Crashes of nodes that lose what they have, or go back to what they saved.
    pub crashes: u8,
    /// States that nodes save, and go back to.
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

/// Something that must never have happened, or that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mark {
    /// A quorum accepted an extension that was sent after a later round had been granted.
    Revived = 1,
    /// The resource took a write after one of a later holder.
    StaleWrite = 2,
    /// What a run that looks for a `Reachable` has seen.
    Reachable = 4,
}

/// The state of a world. Nodes and rounds beyond the setup's number stay new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    pub(crate) nodes: [Node; MOST_NODES],
    pub(crate) rounds: [Round; MOST_ROUNDS],
    /// The time as a token, where clocks are bounded.
    pub(crate) now: u8,
    /// The highest token that the resource has seen,
    pub(crate) highest_write: u8,
    /// and whose writes it took.
    pub(crate) writers: u8,
    /// What may still go wrong.
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

    /// How many nodes have answered a round so.
    pub(crate) fn count(&self, who: usize, flag: Flag) -> u8 {
        let mut count = 0;
        for node in &self.nodes {
            count += u8::from(node.lines[who].has(flag));
        }
        count
    }

    /// The rounds that had a guard, or have one.
    pub(crate) fn granted(&self) -> u8 {
        let mut granted = 0;
        for (who, round) in self.rounds.iter().enumerate() {
            granted |= u8::from(round.granted) << who;
        }
        granted
    }

    /// Visits every token that there is.
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
