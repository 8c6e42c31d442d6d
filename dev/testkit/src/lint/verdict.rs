//! What a check found.

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What was looked at, said in any case.
    pub notes: Vec<String>,
    /// What is wrong, one line each.
    pub faults: Vec<String>,
}

impl Verdict {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }

    /// The verdict in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.holds() { "ok" } else { "FAILED" }
    }

    /// Notes, then faults.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().chain(&self.faults).map(String::as_str)
    }
}
