//! The world that is explored: its nodes, rounds, clocks and possible faults, and the claims.

use super::reachable::Reachable;
use super::weakening::Weakening;
use super::world::{Budget, Mark, World};
use crate::claim::Claim;

/// How a node draws its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// With arbitrary clocks and hints: a node draws any token above its counter.
    Any,
    /// Above all existing tokens, or equal to another node's token of the same round.
    Rising,
    /// With stopped clocks and no hint: a node draws its counter plus one.
    Still,
    /// With node clocks that differ by up to `epsilon` ticks at each reading. The hint is arbitrary, but limited to
    /// `ahead` ticks (S) after the node's time.
    Within {
        /// The maximum difference of clocks.
        epsilon: u8,
        /// The maximum time after its own by which a node follows a hint.
        ahead: u8,
    },
}

/// When the keys of a lock expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leases {
    /// At any time, possibly very early.
    AnyTime,
    /// After their TTL.
    Timed,
}

/// Durations in ticks. Only their order matters, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The TTL. A client uses the TTL minus the margin. It is 0 where validity is not checked.
    pub ttl: u8,
    /// The margin for clocks that differ.
    pub margin: u8,
    /// How long after its sending an acquire may be executed (E); 0 if forever.
    pub allowed: u8,
    /// A node that lost its state does not vote until it was away for longer than this duration.
    pub away: u8,
    /// A counter expires after it was not written for longer than this duration; 0 if never.
    pub idle: u8,
}

/// Possible faults, in addition to delays, losses, pauses and the faults in [`Budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Requests are executed again, repeatedly and at any later time.
    pub copies: bool,
    /// Holders extend their leases.
    pub extends: bool,
    /// Rounds are given up, and guards are released.
    pub leaves: bool,
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
    /// The number of nodes, at most five.
    pub nodes: usize,
    /// The number of rounds, at most three.
    pub rounds: usize,
    /// How tokens are drawn.
    pub clocks: Clocks,
    /// When locks expire.
    pub leases: Leases,
    /// The durations.
    pub times: Times,
    /// The possible faults.
    pub faults: Faults,
    /// The number of bounded faults.
    pub budget: Budget,
    /// Whether answers count that arrive after the token was chosen.
    pub later_answers: bool,
    /// The claims that hold despite the faults.
    pub claims: &'static [Claim],
    /// Events that must be possible, so that no claim holds only because nothing happens.
    pub reachable: &'static [Reachable],
    /// The rule that is left out.
    pub weakening: Option<Weakening>,
    /// The event that this run looks for. The run ends when it occurs.
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

    /// Returns how long after the sending of a request a client relies on its answer.
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
    /// Locks expire at any time, clocks are arbitrary, requests are executed once or never, and no node loses its
    /// state.
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

    /// Records that an event has occurred, if this run looks for it.
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

    /// Returns whether anything depends on the elapsed time.
    pub(crate) fn has_time(&self) -> bool {
        self.has_validity() || matches!(self.clocks, Clocks::Within { .. })
    }

    /// Returns whether a counter may ever go back.
    pub(crate) fn loses_counters(&self) -> bool {
        self.budget.crashes > 0
            || self.times.idle > 0
            || self.without(Weakening::ReleaseKeepsCounter)
    }
}
