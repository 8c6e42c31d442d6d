//! One acquisition, as its own process knows it.

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// Nothing was sent.
    New,
    /// Asks again and again under its id, until it is granted.
    Trying,
    /// Has a guard, valid or lost.
    Holding,
    /// Sends its release, or its cleanup, until that is answered.
    Leaving,
    /// Its release or cleanup was answered: it must leave no trace.
    Over,
    /// Fell silent for good, and cleaned nothing up.
    Dead,
}

/// The request that is under way and its answer; an attempt has one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Line {
    /// No request is under way.
    Idle,
    /// No request is under way, and none is to be: it is parked, and a release of its process may ask on its behalf.
    Parked,
    /// A release that asks on its behalf is on its way.
    AskedFor { age: u8 },
    /// An acquire is on its way. `age` counts from its sending.
    Asked { age: u8 },
    /// The lock is granted, and the answer on its way.
    Granted { age: u8, token: u8 },
    /// Somebody else holds the lock. `left` is what is left of the lease, as far as anybody cares.
    Busy { age: u8, left: u8, first: bool },
    /// The request came after its time, or after its attempt was over.
    Late { age: u8 },
    /// A renewal is on its way.
    Renewing { age: u8 },
    /// The lease was extended, and the answer is on its way.
    Extended { age: u8 },
    /// The server says that the lock is not this attempt's any more.
    Gone,
}

impl Line {
    /// The time since an acquire was sent that is not answered.
    pub(crate) fn unanswered_ask(self) -> Option<u8> {
        match self {
            Self::Asked { age }
            | Self::Granted { age, .. }
            | Self::Busy { age, .. }
            | Self::Late { age } => Some(age),
            Self::AskedFor { .. }
            | Self::Parked
            | Self::Idle
            | Self::Renewing { .. }
            | Self::Extended { .. }
            | Self::Gone => None,
        }
    }

    pub(crate) fn age_mut(&mut self) -> Option<&mut u8> {
        match self {
            Self::Asked { age }
            | Self::AskedFor { age }
            | Self::Granted { age, .. }
            | Self::Busy { age, .. }
            | Self::Late { age }
            | Self::Renewing { age }
            | Self::Extended { age } => Some(age),
            Self::Idle | Self::Parked | Self::Gone => None,
        }
    }
}

/// A lock that a release of its own process has passed on to it, and that it has not taken yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pass {
    /// The time since the release was carried out. It was sent before, which only makes a lease shorter.
    pub(crate) age: u8,
    pub(crate) token: u8,
}

/// A release that asks on behalf of an attempt, and was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Naming {
    /// Whose release it is.
    pub(crate) by: u8,
    /// How long it may still ask: it may be carried out as long, and as often as it likes.
    pub(crate) left: u8,
    /// Whether the attempt's process knows that it may.
    pub(crate) is_noted: bool,
}

/// One acquisition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempt {
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What it waits for.
    pub(crate) line: Line,
    /// How long the server still accepts copies of acquires that were not answered: they may come as
    /// long, and as often as they like.
    pub(crate) copies: u8,
    /// How long the client believes that such copies may come.
    pub(crate) noted: u8,
    /// A release asks on its behalf, and its answer is lost.
    pub(crate) naming: Option<Naming>,
    /// A copy of a renewal was not answered.
    pub(crate) late_renewal: bool,
    /// An answer that grants the lock, and came after the client had asked again.
    pub(crate) slow_grant: Option<u8>,
    /// How long the guard may still be relied on; 0 once it is lost.
    pub(crate) left: u8,
    /// The token of the guard it has, or had; 0 if it never had one.
    pub(crate) token: u8,
    /// The attempts that had been granted before this one began, one bit each.
    pub(crate) after: u8,
    /// How long until it asks again unasked.
    pub(crate) recheck: u8,
    /// A wake-up is on its way to it, or kept for it.
    pub(crate) hint: bool,
    /// What the answer to somebody's release says that it has.
    pub(crate) passed: Option<Pass>,
    /// How often it has asked since time last passed.
    pub(crate) asked_now: u8,
}

impl Attempt {
    pub(crate) const NEW: Self = Self {
        phase: Phase::New,
        line: Line::Idle,
        copies: 0,
        noted: 0,
        naming: None,
        late_renewal: false,
        slow_grant: None,
        left: 0,
        token: 0,
        after: 0,
        recheck: 0,
        hint: false,
        passed: None,
        asked_now: 0,
    };

    /// Whether it has a guard that its process takes for valid.
    #[must_use]
    pub(crate) fn holds(&self) -> bool {
        self.phase == Phase::Holding && self.left > 0
    }

    /// Whether it may ask now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.phase == Phase::Trying && self.line == Line::Idle
    }

    /// Ends the attempt for its process. What nobody looks at any more is forgotten.
    pub(crate) fn end(&mut self, phase: Phase) {
        *self = Self {
            phase,
            copies: self.copies,
            noted: self.noted,
            naming: self.naming,
            token: self.token,
            after: self.after,
            ..Self::NEW
        };
    }
}
