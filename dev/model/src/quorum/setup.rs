//! A world to be explored: how many nodes and rounds, how clocks go, what may go wrong, and what is claimed.

use super::reachable::Reachable;
use super::weakening::Weakening;
use super::world::{Budget, Mark, World};
use crate::claim::Claim;

/// How the tokens that a node draws come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// From clocks and hints that show anything: a node draws whatever is above its counter.
    Any,
    /// Always above every token there is, or what another node has drawn for the same round.
    Rising,
    /// From clocks that stand still, and no hint: a node draws its counter plus one.
    Still,
    /// From node clocks that are up to `epsilon` ticks apart, each time they are read, and from a hint that
    /// shows anything and is cut off `ahead` ticks (S) after the node's time.
    Within {
        /// How far apart clocks are.
        epsilon: u8,
        /// How far beyond its own time a node follows a hint.
        ahead: u8,
    },
}

/// When the keys of a lock expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leases {
    /// At any time, however early.
    AnyTime,
    /// After their TTL.
    Timed,
}

/// How long things last, in ticks. Only the order of the lengths matters, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The TTL, of which a client counts all but the margin; 0 where validity is not looked at.
    pub ttl: u8,
    /// What a client takes off it, for clocks that differ.
    pub margin: u8,
    /// How long after its sending an acquire may be carried out (E); 0 if for ever.
    pub allowed: u8,
    /// A node that lost its state does not vote until it was away for longer than this.
    pub away: u8,
    /// A counter expires once it has not been written for longer than this; 0 if never.
    pub idle: u8,
}

/// What may go wrong, beside delays, losses, pauses, and what [`Budget`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Requests are carried out again, as often as they like and however late.
    pub copies: bool,
    /// Holders extend their leases.
    pub extends: bool,
    /// Rounds are given up and guards released.
    pub leaves: bool,
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
    /// How many nodes there are, five at most.
    pub nodes: usize,
    /// How many rounds there are, three at most.
    pub rounds: usize,
    /// What tokens are drawn from.
    pub clocks: Clocks,
    /// When locks expire.
    pub leases: Leases,
    /// How long things last.
    pub times: Times,
    /// What may go wrong.
    pub faults: Faults,
    /// How often some of it may.
    pub budget: Budget,
    /// Whether answers that come after the token was chosen count too.
    pub later_answers: bool,
    /// What holds all the same.
    pub claims: &'static [Claim],
    /// What must be possible, lest the claims hold for want of anything happening.
    pub reachable: &'static [Reachable],
    /// The rule that is left out.
    pub weakening: Option<Weakening>,
    /// What this run looks for; it ends there.
    pub looks_for: Option<Reachable>,
    /// Whether worlds that differ only in the names of nodes and rounds count as one.
    pub anonymous: bool,
}

impl Times {
    pub(crate) const NONE: Self = Self {
        ttl: 0,
        margin: 0,
        allowed: 0,
        away: 0,
        idle: 0,
    };

    /// How long after the sending of a request a client relies on what it says.
    pub(crate) fn validity(&self) -> u8 {
        self.ttl - self.margin
    }
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        copies: false,
        extends: false,
        leaves: false,
        writes: false,
    };

    pub(crate) const COPIES: Self = Self {
        copies: true,
        ..Self::NONE
    };
}

impl Setup {
    /// Locks expire at any time, clocks show anything, requests come once or never, and no node loses its state.
    pub(crate) const FREE: Self = Self {
        name: "",
        about: "",
        nodes: 3,
        rounds: 2,
        clocks: Clocks::Any,
        leases: Leases::AnyTime,
        times: Times::NONE,
        faults: Faults::NONE,
        budget: Budget::NONE,
        later_answers: false,
        claims: &[Claim::TokensDiffer, Claim::TokensGrow],
        reachable: &[],
        weakening: None,
        looks_for: None,
        anonymous: true,
    };

    pub(crate) fn without(&self, weakening: Weakening) -> bool {
        self.weakening == Some(weakening)
    }

    /// Notes that something has happened, if this run looks for it.
    pub(crate) fn see(&self, world: &mut World, reachable: Reachable) {
        if self.looks_for == Some(reachable) {
            world.mark(Mark::Reachable);
        }
    }

    pub(crate) fn everyone(&self) -> std::ops::Range<usize> {
        0..self.rounds
    }

    pub(crate) fn everywhere(&self) -> std::ops::Range<usize> {
        0..self.nodes
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.leases == Leases::Timed
    }

    pub(crate) fn has_validity(&self) -> bool {
        self.times.ttl > 0
    }

    /// Whether anything depends on how much time has passed.
    pub(crate) fn has_time(&self) -> bool {
        self.has_validity() || matches!(self.clocks, Clocks::Within { .. })
    }

    /// Whether a counter may ever go back.
    pub(crate) fn loses_counters(&self) -> bool {
        self.budget.crashes > 0
            || self.times.idle > 0
            || self.without(Weakening::ReleaseKeepsCounter)
    }
}
