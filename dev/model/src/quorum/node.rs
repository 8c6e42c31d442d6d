//! The data of a node for one lock, and the state of each round at the node.

/// The maximum number of rounds in a world.
pub(crate) const MOST_ROUNDS: usize = 3;

/// The maximum number of nodes in a world.
pub(crate) const MOST_NODES: usize = 5;

/// No round, where a round is identified by its index plus one.
pub(crate) const NOBODY: u8 = 0;

/// The keys of one lock on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Keys {
    /// The lock's key: the round that holds the lock, or [`NOBODY`].
    pub(crate) holder: u8,
    /// The TTL of the lock's key, where leases are timed.
    pub(crate) left: u8,
    /// The fence record: the last token, or 0 if there is no record.
    pub(crate) counter: u8,
    /// The round that drew the last token.
    pub(crate) drawer: u8,
    /// The rounds whose acquires are refused, one bit each.
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

    /// One tick passes for a timed TTL.
    pub(crate) fn age(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.delete_lock();
            }
        }
    }
}

/// Messages between a round's client and a node that are in flight or have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flag {
    /// Duplicates of the acquire may arrive.
    Asked = 1,
    /// Duplicates of the raise may arrive.
    Raise = 2,
    /// The node has acknowledged the round's token.
    Acked = 4,
    /// Duplicates of an extension may arrive.
    Extend = 8,
    /// The node has accepted the current extension.
    Extended = 16,
    /// The node has answered the release.
    Released = 32,
    /// Duplicates of a release may arrive although its sender continues. This only happens with a weakened client.
    OldRelease = 64,
}

/// The state of one round at one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Line {
    /// The token in the node's answer. It is 0 before the answer, and when it no longer matters.
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
    /// An older state, to which the node returns after a crash.
    pub(crate) saved: Option<Keys>,
    /// How long the counter has not been written, where that matters.
    pub(crate) idle: u8,
    /// It is 0 while the node serves. Otherwise it is one more than the ticks since the crash.
    pub(crate) away: u8,
    /// Whether the node has come back and has granted nothing since. Only set in a run that looks for this event.
    pub(crate) is_back: bool,
    /// The state of each round at this node.
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

/// Returns the id of a round in the keys of a node.
pub(crate) fn id(who: usize) -> u8 {
    u8::try_from(who + 1).unwrap_or(u8::MAX)
}
