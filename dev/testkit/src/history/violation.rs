//! What no lock may do.

use std::fmt;

use super::holds::Hold;

/// Something that two holds of one key may not do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The second began while the first was valid.
    Overlap {
        /// The one granted first.
        first: Hold,
        /// The one granted later.
        second: Hold,
    },
    /// The second was asked for after the first had been granted, and its token
    /// is not greater.
    TokenNotGreater {
        /// The one granted first.
        first: Hold,
        /// The one asked for later.
        second: Hold,
    },
    /// Both have the same token.
    TokenTwice {
        /// The one granted first.
        first: Hold,
        /// The one granted later.
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

/// All that was found, as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(pub Vec<Violation>);

/// This many are worth showing.
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
