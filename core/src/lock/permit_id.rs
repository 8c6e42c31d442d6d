//! The id of one permit of a semaphore.

use std::fmt;

/// What tells the holders of a semaphore's permits apart: of one key, it grows with every grant.
///
/// It is no [`FencingToken`](crate::FencingToken), and no fence takes it. Permits are held beside each other, and
/// a resource that accepts only the highest token seen would refuse the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotToken(i64);

impl SlotToken {
    pub(crate) const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The token as a log or a database carries it.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for SlotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
