//! How long things last, in ticks.

/// The lengths of a setup. Only their order and their equalities matter, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The lease of a granted lock.
    pub ttl: u8,
    /// What a client takes off it, for clocks that differ.
    pub margin: u8,
    /// How long the lock's key is a waiter's who was handed it.
    pub grant: u8,
    /// How long that waiter's place lasts then: the server may round the one down and not the other.
    pub grant_place: u8,
    /// The lease on a waiter's place.
    pub place: u8,
    /// How often a waiter repeats its attempt.
    pub refresh: u8,
    /// How often the first waiter does.
    pub first_looks: u8,
    /// How long after its sending an acquire may be carried out.
    pub allowed: u8,
    /// How far the client's idea of the server's clock may be ahead.
    pub news: u8,
    /// What is added to the life of a tombstone.
    pub seal_margin: u8,
}

impl Times {
    /// For worlds in which everything may take as long as it likes.
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
    };

    /// For worlds in which everybody does what is due in time.
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
    };
}
