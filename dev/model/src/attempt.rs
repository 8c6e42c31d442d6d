//! The state of one attempt, as known by its own process.

/// The progress of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// Nothing was sent.
    New,
    /// Repeats its request with its id until it is granted.
    Trying,
    /// Has a guard, valid or lost.
    Holding,
    /// Repeats its release or cleanup until it is answered.
    Leaving,
    /// Its release or cleanup was answered, so nothing of the attempt may be left.
    Over,
    /// Has ended permanently without a cleanup.
    Dead,
}

/// The request in flight and its answer. An attempt has one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Line {
    /// No request is in flight.
    Idle,
    /// The attempt is parked and sends no request. A release of its process may request the lock for the attempt.
    Parked,
    /// A release that requests the lock for this attempt is in flight.
    AskedFor { age: u8 },
    /// An acquire is in flight. `age` counts from its sending.
    Asked { age: u8 },
    /// The lock was granted, and the answer is in flight.
    Granted { age: u8, token: u8 },
    /// Another attempt holds the lock. `left` is the remaining lease, as far as it matters.
    Busy { age: u8, left: u8, first: bool },
    /// The request arrived after its expiry, or after its attempt had ended.
    Late { age: u8 },
    /// A renewal is in flight.
    Renewing { age: u8 },
    /// The lease was extended, and the answer is in flight.
    Extended { age: u8 },
    /// The server has answered that this attempt no longer holds the lock.
    Gone,
    /// The server keeps an outcome, and the answer is in flight.
    Found { age: u8 },
    /// A record is in flight.
    Recording,
    /// The answer to a record is in flight.
    Recorded { accepted: bool },
}

impl Line {
    /// Returns the time since the sending of an unanswered acquire.
    pub(crate) fn unanswered_ask(self) -> Option<u8> {
        match self {
            Self::Asked { age }
            | Self::Granted { age, .. }
            | Self::Busy { age, .. }
            | Self::Found { age }
            | Self::Late { age } => Some(age),
            Self::AskedFor { .. }
            | Self::Parked
            | Self::Idle
            | Self::Renewing { .. }
            | Self::Extended { .. }
            | Self::Recording
            | Self::Recorded { .. }
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
            | Self::Found { age }
            | Self::Renewing { age }
            | Self::Extended { age } => Some(age),
            Self::Idle | Self::Parked | Self::Gone | Self::Recording | Self::Recorded { .. } => {
                None
            }
        }
    }
}

/// A direct hand-off from a release of the same process that the attempt has not accepted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pass {
    /// The time since the execution of the release. The release was sent earlier, which only makes the lease shorter.
    pub(crate) age: u8,
    pub(crate) token: u8,
}

/// An unanswered release that requests the lock for this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Naming {
    /// The attempt that releases.
    pub(crate) by: u8,
    /// How long the release may still take effect. Until then it may be executed repeatedly.
    pub(crate) left: u8,
    /// Whether the attempt's process knows about the release.
    pub(crate) is_noted: bool,
}

/// One acquisition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempt {
    /// The progress of the attempt.
    pub(crate) phase: Phase,
    /// The request in flight.
    pub(crate) line: Line,
    /// How long the server still accepts duplicates of unanswered acquires. Until then they may arrive repeatedly.
    pub(crate) copies: u8,
    /// How long the client expects such duplicates.
    pub(crate) noted: u8,
    /// A release that requests the lock for this attempt, and whose answer is lost.
    pub(crate) naming: Option<Naming>,
    /// Whether an acquire had no answer. Only attempts with the flag `once` need this.
    pub(crate) unanswered: bool,
    /// Whether a duplicate of an unanswered renewal may arrive.
    pub(crate) late_renewal: bool,
    /// Whether a record has no answer. The server may execute it at any later time.
    pub(crate) late_record: bool,
    /// The token of a grant whose answer arrived after the client had repeated its request.
    pub(crate) slow_grant: Option<u8>,
    /// How long the guard is still valid; 0 after it is lost.
    pub(crate) left: u8,
    /// The token of the current or last guard; 0 if there was none.
    pub(crate) token: u8,
    /// The attempts that had been granted before this one began, one bit each.
    pub(crate) after: u8,
    /// The time until the next poll without a notification.
    pub(crate) recheck: u8,
    /// Whether a notification for this attempt is in flight or stored.
    pub(crate) hint: bool,
    /// A direct hand-off to this attempt.
    pub(crate) passed: Option<Pass>,
    /// How many requests the attempt has sent since the last tick.
    pub(crate) asked_now: u8,
}

impl Attempt {
    pub(crate) const NEW: Self = Self {
        phase: Phase::New,
        line: Line::Idle,
        copies: 0,
        noted: 0,
        naming: None,
        unanswered: false,
        late_renewal: false,
        late_record: false,
        slow_grant: None,
        left: 0,
        token: 0,
        after: 0,
        recheck: 0,
        hint: false,
        passed: None,
        asked_now: 0,
    };

    /// Returns whether the attempt has a guard that its process considers valid. The guard ends when the first record is
    /// sent, because the body has ended then.
    #[must_use]
    pub(crate) fn holds(&self) -> bool {
        let records = matches!(self.line, Line::Recording | Line::Recorded { .. });
        self.phase == Phase::Holding && self.left > 0 && !records && !self.late_record
    }

    /// Returns whether the attempt may send a request now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.phase == Phase::Trying && self.line == Line::Idle
    }

    /// Ends the attempt for its process, and removes state that no longer matters.
    pub(crate) fn end(&mut self, phase: Phase) {
        *self = Self {
            phase,
            copies: self.copies,
            noted: self.noted,
            naming: self.naming,
            late_record: self.late_record,
            token: self.token,
            after: self.after,
            ..Self::NEW
        };
    }
}
