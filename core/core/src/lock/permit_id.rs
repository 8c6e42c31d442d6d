//! The id of one permit of a semaphore.

use std::fmt;

/// Identifies one holder of a semaphore's permits. For one key, each grant has a larger id than all earlier grants.
///
/// A permit id is not a [`FencingToken`](crate::FencingToken), and fences do not accept it. Several holders hold
/// permits concurrently, so a resource that accepts only the highest token would reject the other holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermitId(i64);

impl PermitId {
    pub(crate) const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Returns the id as a number, for logs and databases.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for PermitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
