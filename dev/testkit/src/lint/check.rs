//! The list of checks.

use super::{Verdict, api, circles, guarantees, leftovers, links, names, sizes, supply};
use crate::error::Error;
use crate::workspace::Workspace;

/// A structure check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Source files are short.
    Sizes,
    /// Modules do not depend on each other in a cycle.
    Circles,
    /// Source files contain no unfinished code.
    Leftovers,
    /// Every guarantee names existing tests.
    Guarantees,
    /// Dependencies have allowed licences, sources and names.
    Supply,
    /// Published crates show only the crates in their manifests.
    Api,
    /// Names do not contain metaphors.
    Names,
    /// Relative links in Markdown point to files and headings that exist.
    Links,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 8] = [
        Self::Sizes,
        Self::Circles,
        Self::Leftovers,
        Self::Guarantees,
        Self::Supply,
        Self::Api,
        Self::Names,
        Self::Links,
    ];

    /// Returns the name of the check.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "lint: file sizes",
            Self::Circles => "lint: module circles",
            Self::Leftovers => "lint: leftovers",
            Self::Guarantees => "lint: guarantees",
            Self::Supply => "lint: supply chain",
            Self::Api => "lint: public dependencies",
            Self::Names => "lint: names",
            Self::Links => "lint: links",
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
            Self::Leftovers => leftovers::check(workspace),
            Self::Guarantees => guarantees::check(workspace),
            Self::Supply => supply::check(workspace),
            Self::Api => api::check(workspace),
            Self::Names => names::check(workspace),
            Self::Links => links::check(workspace),
        }
    }
}
