//! Finds violations. Each check takes time proportional to `n log n`.

use std::collections::HashMap;

use super::holds::{History, Hold};
use super::moment::Moment;
use super::specification::{Breach, Mode, Specification};
use super::violation::{Violation, Violations};

impl Hold {
    /// Returns whether the tokens allow that `later` was requested after this one was granted.
    fn may_precede(&self, later: &Self) -> bool {
        self.token < later.token
            || (self.token == later.token && later.mode.may_share_token(self.mode))
    }
}

impl History {
    /// Checks that held locks of one key do not overlap unless their modes allow it. A held lock without duration
    /// overlaps nothing, because its holder never reported it as valid.
    #[must_use]
    pub fn exclusion(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            let mut lock: Specification<usize> = Specification::default();
            let lasting = holds.iter().enumerate();
            for (at, &second) in lasting.filter(|(_, it)| it.granted_at < it.until) {
                lock.retain(|first| holds[*first].until > second.granted_at);
                for breach in lock.grant(at, second.mode, None) {
                    if let Breach::Overlap(first) = breach {
                        found.push(Violation::Overlap {
                            first: holds[first].clone(),
                            second: second.clone(),
                        });
                    }
                }
            }
        }
        found
    }

    /// Returns the maximum number of concurrent holders of one key. A held lock without duration does not count. If a
    /// holder was killed, only the time that it has reported counts.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        let most = |holds: Vec<&Hold>| {
            let lasting = holds.into_iter().filter(|it| it.granted_at < it.until);
            let mut turns: Vec<(Moment, bool)> = lasting
                .flat_map(|it| [(it.granted_at, true), (it.until, false)])
                .collect();
            // A lock that ends at the moment in which another one begins does not overlap it.
            turns.sort_unstable();
            let counts = turns.into_iter().scan(0_usize, |count, (_, begins)| {
                *count = if begins { *count + 1 } else { *count - 1 };
                Some(*count)
            });
            counts.max().unwrap_or_default()
        };
        self.by_key()
            .into_values()
            .map(most)
            .max()
            .unwrap_or_default()
    }

    /// Compares each grant with the grants of its key before its request. Its token must be larger, or equal if the
    /// modes share a token. Tokens of concurrent requests may have any order.
    #[must_use]
    pub fn tokens_strictly_increase(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            let mut granted = holds;
            granted.retain(|it| it.token.is_some() && !matches!(it.mode, Mode::Permits { .. }));
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
                    Some(first) if !first.may_precede(second) => {
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

    /// Checks that no two grants of one key have the same token.
    #[must_use]
    pub fn tokens_unique(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for holds in self.by_key().into_values() {
            let mut seen: HashMap<i64, &Hold> = HashMap::new();
            for second in holds {
                let Some(token) = second.token else { continue };
                if let Some(first) = seen.insert(token, second)
                    && !second.mode.may_share_token(first.mode)
                {
                    found.push(Violation::TokenTwice {
                        first: first.clone(),
                        second: second.clone(),
                    });
                }
            }
        }
        found
    }

    /// Returns all violations.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let found = [
            self.exclusion(),
            self.tokens_unique(),
            self.tokens_strictly_increase(),
        ];
        found.concat()
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// Returns [`Violations`] if there are any.
    pub fn check(&self) -> Result<(), Violations> {
        let found = self.violations();
        match found.is_empty() {
            true => Ok(()),
            false => Err(Violations(found)),
        }
    }
}
