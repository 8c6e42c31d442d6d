//! Finding violations. Each check takes time in proportion to `n log n`.

use std::collections::HashMap;

use super::holds::{History, Hold};
use super::violation::{Violation, Violations};

impl History {
    /// No two holds of one key overlap. One without duration overlaps nothing:
    /// its holder never said that it was valid.
    #[must_use]
    pub fn exclusion(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            // Among those before it, the one that lasts longest.
            let mut last: Option<&Hold> = None;
            let lasting = holds.into_iter().filter(|it| it.granted_at < it.until);
            for second in lasting {
                match last {
                    Some(first) if second.granted_at < first.until => {
                        found.push(Violation::Overlap {
                            first: first.clone(),
                            second: second.clone(),
                        });
                    }
                    _ => {}
                }
                if last.is_none_or(|last| second.until > last.until) {
                    last = Some(second);
                }
            }
        }
        found
    }

    /// A hold that was asked for after another of its key had been granted has
    /// a greater token. Between requests that were under way at the same time,
    /// any order will do.
    #[must_use]
    pub fn tokens_strictly_increase(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            let granted: Vec<&Hold> = holds.into_iter().filter(|it| it.token.is_some()).collect();
            let mut requested = granted.clone();
            requested.sort_by_key(|hold| hold.requested_at);
            let mut granted = granted.into_iter().peekable();
            let mut greatest: Option<&Hold> = None;
            for second in requested {
                while let Some(first) = granted.next_if(|it| it.granted_at < second.requested_at) {
                    if greatest.is_none_or(|greatest| first.token > greatest.token) {
                        greatest = Some(first);
                    }
                }
                match greatest {
                    Some(first) if first.token >= second.token => {
                        found.push(Violation::TokenNotGreater {
                            first: first.clone(),
                            second: second.clone(),
                        });
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// No two holds of one key have the same token.
    #[must_use]
    pub fn tokens_unique(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            let mut seen: HashMap<i64, &Hold> = HashMap::new();
            for second in holds {
                let Some(token) = second.token else { continue };
                if let Some(first) = seen.insert(token, second) {
                    found.push(Violation::TokenTwice {
                        first: first.clone(),
                        second: second.clone(),
                    });
                }
            }
        }
        found
    }

    /// All of it.
    ///
    /// # Errors
    ///
    /// [`Violations`] if there are any.
    pub fn check(&self) -> Result<(), Violations> {
        let found = [
            self.exclusion(),
            self.tokens_unique(),
            self.tokens_strictly_increase(),
        ];
        let found: Vec<Violation> = found.into_iter().flatten().collect();
        match found.is_empty() {
            true => Ok(()),
            false => Err(Violations(found)),
        }
    }
}
