//! Durations in ticks.

/// The durations of a setup. Only their order and equality matter, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The lease of a granted lock.
    pub ttl: u8,
    /// The margin that a client subtracts for clocks that differ.
    pub margin: u8,
    /// How long a waiter owns the lock's key before its confirmation.
    pub grant: u8,
    /// How long that waiter's queue position lasts then. The server may round only one of these durations down.
    pub grant_place: u8,
    /// The lease of a queue position.
    pub place: u8,
    /// The interval at which a waiter repeats its attempt.
    pub refresh: u8,
    /// The interval at which the first waiter polls.
    pub first_looks: u8,
    /// How long after its sending an acquire may be executed.
    pub allowed: u8,
    /// How far the client's estimate of the server's clock may be ahead.
    pub news: u8,
    /// The addition to the lifetime of a tombstone.
    pub seal_margin: u8,
    /// How long the server keeps an outcome.
    pub keep: u8,
}

impl Times {
    /// For worlds without time limits.
    pub(crate) const FREE: Self = Self {
        ttl: 2,
        margin: 0,
        grant: 1,
        grant_place: 1,
        place: 2,
        refresh: 1,
        first_looks: 1,
        allowed: 2,
        news: 0,
        seal_margin: 0,
        keep: 1,
    };

    /// For worlds in which all act in time.
    pub(crate) const PROMPT: Self = Self {
        ttl: 3,
        margin: 0,
        grant: 2,
        grant_place: 2,
        place: 9,
        refresh: 4,
        first_looks: 1,
        allowed: 3,
        news: 0,
        seal_margin: 0,
        keep: 2,
    };
}
