//! What a check has found.

use std::fmt;

/// How a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing has to change.
    Good,
    /// The locks work, and a guarantee is weaker than it could be.
    Warning,
    /// The locks do not work, or can be lost.
    Failure,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "ok",
            Self::Warning => "warning",
            Self::Failure => "failure",
        })
    }
}

/// One thing that [`LockManager::check`](crate::LockManager::check) has examined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How the finding counts.
    pub verdict: Verdict,
    /// What was examined, such as `eviction`.
    pub name: &'static str,
    /// What was found, such as ``maxmemory-policy is `allkeys-lru` ``.
    pub found: String,
    /// The guarantee that depends on it, as the guarantees (`leasehold::guarantees`) name it: `exclusion`, `tokens (T3)`,
    /// `fenced writes` or `liveness`.
    pub guarantee: &'static str,
    /// What to change. `None` if the verdict is [`Verdict::Good`].
    pub remedy: Option<String>,
}

impl Finding {
    /// Creates a finding that needs no change.
    #[must_use]
    pub fn good(name: &'static str, guarantee: &'static str, found: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Good,
            name,
            found: found.into(),
            guarantee,
            remedy: None,
        }
    }

    /// Creates a finding that makes a guarantee weaker.
    #[must_use]
    pub fn warning(
        name: &'static str,
        guarantee: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warning,
            remedy: Some(remedy.into()),
            ..Self::good(name, guarantee, found)
        }
    }

    /// Turns the finding into a warning with this remedy if the condition holds.
    #[must_use]
    pub fn warning_if(self, condition: bool, remedy: impl Into<String>) -> Self {
        match condition {
            true => Self::warning(self.name, self.guarantee, self.found, remedy),
            false => self,
        }
    }

    /// Creates a finding with which the locks do not work, or can be lost.
    #[must_use]
    pub fn failure(
        name: &'static str,
        guarantee: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Failure,
            ..Self::warning(name, guarantee, found, remedy)
        }
    }
}
