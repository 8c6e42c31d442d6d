//! The list of checks.

use super::{Verdict, circles, leftovers, sizes};
use crate::error::Error;
use crate::workspace::Workspace;

/// A structure check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Source files are short.
    Sizes,
    /// Modules do not depend on each other in a circle.
    Circles,
    /// Nothing unfinished is left in a source.
    Leftovers,
}

impl Check {
    /// Every check there is.
    pub const ALL: [Self; 3] = [Self::Sizes, Self::Circles, Self::Leftovers];

    /// What the check is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "house: file sizes",
            Self::Circles => "house: module circles",
            Self::Leftovers => "house: leftovers",
        }
    }

    /// Looks at the workspace.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] or [`Error::Parse`] if a source file cannot be looked
    /// at; what the check is for is in the verdict.
    pub fn run(self, workspace: &Workspace) -> Result<Verdict, Error> {
        match self {
            Self::Sizes => sizes::check(workspace),
            Self::Circles => circles::check(workspace),
            Self::Leftovers => leftovers::check(workspace),
        }
    }
}
