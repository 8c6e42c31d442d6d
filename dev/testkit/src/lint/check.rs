//! The list of checks.

use super::{Verdict, api, circles, guarantees, leftovers, links, names, sizes, supply};
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
    /// Every guarantee names the tests that attack it, and they exist.
    Guarantees,
    /// What is built in may be.
    Supply,
    /// Which other crates a published crate shows is what its manifest says.
    Api,
    /// Names have no metaphor.
    Names,
    /// Relative links in Markdown point to files and headings that exist.
    Links,
}

impl Check {
    /// Every check there is.
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

    /// What the check is called.
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
            Self::Guarantees => guarantees::check(workspace),
            Self::Supply => supply::check(workspace),
            Self::Api => api::check(workspace),
            Self::Names => names::check(workspace),
            Self::Links => links::check(workspace),
        }
    }
}
