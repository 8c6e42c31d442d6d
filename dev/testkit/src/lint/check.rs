//! The list of checks.

use super::{Verdict, api, circles, dependencies, guarantees, sizes};
use crate::error::Error;
use crate::workspace::Workspace;

/// A structure check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Source files are short.
    Sizes,
    /// Modules do not depend on each other in a cycle.
    Circles,
    /// Every guarantee names existing tests.
    Guarantees,
    /// Published crates know only the crates below them.
    Dependencies,
    /// Published crates show only the crates in their manifests.
    Api,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 5] = [
        Self::Sizes,
        Self::Circles,
        Self::Guarantees,
        Self::Dependencies,
        Self::Api,
    ];

    /// Returns the name of the check.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "lint: file sizes",
            Self::Circles => "lint: module circles",
            Self::Guarantees => "lint: guarantees",
            Self::Dependencies => "lint: dependencies between crates",
            Self::Api => "lint: public dependencies",
        }
    }

    /// Checks the workspace.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] or [`Error::Parse`] if a source file cannot be checked. The result of the check is in
    /// the verdict.
    pub fn run(self, workspace: &Workspace) -> Result<Verdict, Error> {
        match self {
            Self::Sizes => sizes::check(workspace),
            Self::Circles => circles::check(workspace),
            Self::Guarantees => guarantees::check(workspace),
            Self::Dependencies => dependencies::check(workspace),
            Self::Api => api::check(workspace),
        }
    }
}
