//! One attempt to acquire: who asks, for which key, in which mode, for how long.

use std::fmt;
use std::time::Duration;

use crate::{FencingToken, Key, OwnerId};

/// One acquisition, made before its first byte is sent and unchanged until it ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Attempt {
    /// What is to be locked.
    pub key: Key,
    /// Who asks: never the same for two attempts.
    pub owner: OwnerId,
    /// How long the lease is to last, from the moment the backend grants it.
    pub ttl: Duration,
    /// Whether a busy answer enters the caller into the queue. If not, it leaves nothing behind.
    pub queue: bool,
    /// Beside whom it may be held.
    pub mode: Mode,
    /// The handover, if this attempt takes the lock up rather than waits for it.
    pub handover: Option<Box<Handover>>,
    /// How soon an answer is wanted, be it that the lock is busy. A backend may take a part of that, if the caller may be
    /// granted the lock meanwhile.
    pub answer_within: Duration,
    /// Whether the caller renews the lease by itself, and soon if it is much shorter than `ttl`. Then a backend may grant
    /// less at first, to save a request, and the first renewal makes it `ttl`.
    pub renewed: bool,
}

impl Attempt {
    /// An attempt under a fresh owner id.
    #[must_use]
    pub fn new(key: Key, ttl: Duration, queue: bool) -> Self {
        Self::by(OwnerId::random(), key, ttl, queue)
    }

    /// An attempt of `owner`, which is no other attempt's.
    pub(crate) const fn by(owner: OwnerId, key: Key, ttl: Duration, queue: bool) -> Self {
        Self {
            key,
            owner,
            ttl,
            queue,
            mode: Mode::Exclusive,
            handover: None,
            answer_within: Duration::MAX,
            renewed: false,
        }
    }

    /// The same attempt, to be held in `mode`.
    #[must_use]
    pub const fn in_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The same attempt, as one that takes up what is handed over.
    #[must_use]
    pub fn taking_up(mut self, handover: Option<Box<Handover>>) -> Self {
        self.handover = handover;
        self
    }

    /// The same attempt, to be answered soon.
    #[must_use]
    pub const fn answered_within(mut self, limit: Duration) -> Self {
        self.answer_within = limit;
        self
    }

    /// The same attempt, by one that renews its lease by itself.
    #[must_use]
    pub const fn renewed(mut self, renewed: bool) -> Self {
        self.renewed = renewed;
        self
    }

    /// What this attempt holds once it was granted `token`.
    #[must_use]
    pub fn claim(&self, token: FencingToken) -> Claim {
        Claim {
            key: self.key.clone(),
            owner: self.owner,
            ttl: self.ttl,
            token,
            mode: self.mode,
        }
    }
}

/// What a granted attempt holds, as it is renewed and released.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Claim {
    /// What is locked.
    pub key: Key,
    /// Who holds it.
    pub owner: OwnerId,
    /// How long each renewal makes the lease last.
    pub ttl: Duration,
    /// The token it was granted.
    pub token: FencingToken,
    /// Beside whom it is held.
    pub mode: Mode,
}

/// What a ticket says of a lock that is handed over. All of it must be as the giver told the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handover {
    /// Who hands the lock over.
    pub giver: OwnerId,
    /// The token under which the giver held it.
    pub token: FencingToken,
    /// What nobody knows but the backend and the ticket.
    pub secret: HandoverSecret,
}

impl Handover {
    /// The handover of what a claim holds.
    #[must_use]
    pub const fn new(claim: &Claim, secret: HandoverSecret) -> Self {
        Self {
            giver: claim.owner,
            token: claim.token,
            secret,
        }
    }
}

/// A secret that is made for one handover, and of which nothing else knows: not who looks at the lock, nor a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HandoverSecret(OwnerId);

impl HandoverSecret {
    /// One that nobody can guess.
    ///
    /// # Panics
    ///
    /// If the operating system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        Self(OwnerId::random())
    }

    /// The secret, as a backend keeps it and a ticket carries it.
    #[must_use]
    pub fn reveal(self) -> String {
        self.0.reveal()
    }

    /// What [`reveal`](Self::reveal) has answered.
    pub(crate) fn read(text: &str) -> Option<Self> {
        OwnerId::read(text).map(Self)
    }
}

impl fmt::Debug for HandoverSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandoverSecret(..)")
    }
}

/// Beside whom a lock may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Beside nobody.
    Exclusive,
    /// Beside all others that share it, and nobody else: the readers of a read-write lock.
    Shared,
    /// Beside others with permits, as long as no more than `of` are taken. Each attempt is judged by the
    /// number that it names itself.
    Permits {
        /// How many permits it takes.
        count: u32,
        /// How many there are.
        of: u32,
    },
}

impl Mode {
    /// How many shares of the lock it takes.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Exclusive | Self::Shared => 1,
            Self::Permits { count, .. } => count as usize,
        }
    }

    /// Whether the two are about permits, or both are not: a key is used for one or the other.
    #[must_use]
    pub const fn is_like(self, other: Self) -> bool {
        matches!(self, Self::Permits { .. }) == matches!(other, Self::Permits { .. })
    }
}
