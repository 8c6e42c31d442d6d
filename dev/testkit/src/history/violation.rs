//! The violations of a lock's guarantees.

use std::fmt;

use super::holds::Hold;

/// A violation by two held locks of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The second lock was granted while the first one was valid.
    Overlap {
        /// The lock that was granted first.
        first: Hold,
        /// The lock that was granted later.
        second: Hold,
    },
    /// The second lock was requested after the first one was granted, but its token is not larger.
    TokenNotGreater {
        /// The lock that was granted first.
        first: Hold,
        /// The lock that was requested later.
        second: Hold,
    },
    /// Both have the same token.
    TokenTwice {
        /// The lock that was granted first.
        first: Hold,
        /// The lock that was granted later.
        second: Hold,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, first, second) = match self {
            Self::Overlap { first, second } => ("two holders at once", first, second),
            Self::TokenNotGreater { first, second } => {
                ("a later token is not greater", first, second)
            }
            Self::TokenTwice { first, second } => ("one token twice", first, second),
        };
        write!(f, "{}: {what}\n  {first}\n  {second}", first.key)
    }
}

/// All found violations, as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(pub Vec<Violation>);

/// The maximum number of shown violations.
const WORTH_SHOWING: usize = 5;

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violations", self.0.len())?;
        for violation in self.0.iter().take(WORTH_SHOWING) {
            write!(f, "\n{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}
