//! The result of a check.

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Descriptions of the checked code, shown in any case.
    pub notes: Vec<String>,
    /// The faults, one line each.
    pub faults: Vec<String>,
}

impl Verdict {
    /// Returns whether there are no faults.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the verdict in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.holds() { "ok" } else { "FAILED" }
    }

    /// Returns the notes, and then the faults.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().chain(&self.faults).map(String::as_str)
    }
}
