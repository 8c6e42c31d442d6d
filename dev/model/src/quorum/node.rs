//! What a node keeps for one lock, and how far each round has come with it.

/// The most rounds that a world has.
pub(crate) const MOST_ROUNDS: usize = 3;

/// The most nodes that a world has.
pub(crate) const MOST_NODES: usize = 5;

/// Nobody, where a round is named by its index plus one.
pub(crate) const NOBODY: u8 = 0;

/// The keys of one lock on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Keys {
    /// The lock's key: the round that holds it, or [`NOBODY`],
    pub(crate) holder: u8,
    /// and its TTL, where leases are timed.
    pub(crate) left: u8,
    /// The fence record: the last token, 0 if there is no record,
    pub(crate) counter: u8,
    /// and the round that drew it.
    pub(crate) drawer: u8,
    /// The rounds whose acquires are refused from here on, one bit each.
    pub(crate) seals: u8,
}

impl Keys {
    pub(crate) const EMPTY: Self = Self {
        holder: NOBODY,
        left: 0,
        counter: 0,
        drawer: NOBODY,
        seals: 0,
    };

    pub(crate) fn is_held_by(&self, who: usize) -> bool {
        self.holder == id(who)
    }

    pub(crate) fn is_sealed_for(&self, who: usize) -> bool {
        self.seals & 1 << who != 0
    }

    pub(crate) fn delete_lock(&mut self) {
        (self.holder, self.left) = (NOBODY, 0);
    }

    /// A tick passes, for a TTL that is timed.
    pub(crate) fn age(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.delete_lock();
            }
        }
    }
}

/// What is on its way between a round's client and a node, or has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flag {
    /// Copies of the acquire may arrive.
    Asked = 1,
    /// Copies of the raise may arrive.
    Raise = 2,
    /// The node has acknowledged the round's token.
    Acked = 4,
    /// Copies of an extension may arrive.
    Extend = 8,
    /// The node has accepted the extension that is under way.
    Extended = 16,
    /// The node has answered the release.
    Released = 32,
    /// Copies of a release may arrive although its sender goes on. Only a weakened client's do.
    OldRelease = 64,
}

/// One round's dealings with one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Line {
    /// The token in the node's answer, 0 before there is any, or once it does not matter.
    pub(crate) grant: u8,
    flags: u8,
}

impl Line {
    pub(crate) const IDLE: Self = Self { grant: 0, flags: 0 };

    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.flags & flag as u8 != 0
    }

    pub(crate) fn set(&mut self, flag: Flag, to: bool) {
        if to {
            self.flags |= flag as u8;
        } else {
            self.flags &= !(flag as u8);
        }
    }
}

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node {
    pub(crate) keys: Keys,
    /// An older state, which it will have after a crash.
    pub(crate) saved: Option<Keys>,
    /// For how long its counter has not been written, where that matters.
    pub(crate) idle: u8,
    /// 0 while it serves; else one more than the ticks since its crash.
    pub(crate) away: u8,
    /// Whether it has come back and granted nothing since. Only a run that looks for this is told.
    pub(crate) is_back: bool,
    /// Its dealings with each round.
    pub(crate) lines: [Line; MOST_ROUNDS],
}

impl Node {
    pub(crate) const NEW: Self = Self {
        keys: Keys::EMPTY,
        saved: None,
        idle: 0,
        away: 0,
        is_back: false,
        lines: [Line::IDLE; MOST_ROUNDS],
    };

    pub(crate) fn serves(&self) -> bool {
        self.away == 0
    }
}

/// A round as it is named in a node's keys.
pub(crate) fn id(who: usize) -> u8 {
    u8::try_from(who + 1).unwrap_or(u8::MAX)
}
