//! The primary that a majority of the Sentinels reports.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The replies of the Sentinels.
pub(super) struct Votes {
    /// The number of Sentinels in the URL.
    named: usize,
    given: Vec<Primary>,
}

impl Votes {
    pub(super) fn of(named: usize) -> Self {
        Self {
            named,
            given: Vec::with_capacity(named),
        }
    }

    pub(super) fn count(&mut self, vote: Primary) {
        self.given.push(vote);
    }

    pub(super) fn are_none(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the primary that a majority of the Sentinels in the URL reports.
    pub(super) fn elected(&self) -> Option<Primary> {
        let majority = self.majority();
        let candidates = self.given.iter();
        candidates
            .map(|it| self.epochs(it))
            .zip(&self.given)
            .find_map(|(epochs, it)| {
                // This is the epoch that a majority confirms, because a single Sentinel can report any epoch.
                let epoch = *epochs.get(majority - 1)?;
                Some(Primary {
                    epoch,
                    ..it.clone()
                })
            })
    }

    /// Returns the primary that a majority reports. If too few responded for a majority, returns the primary that all
    /// of the responding Sentinels report.
    pub(super) fn elected_by_those_who_answered(&self) -> Option<Primary> {
        self.elected().or_else(|| {
            let few = self.given.len() < self.majority();
            let first = self.given.first().filter(|_| few)?;
            let epochs = self.epochs(first);
            let epoch = *epochs.last().filter(|_| epochs.len() == self.given.len())?;
            Some(Primary {
                epoch,
                ..first.clone()
            })
        })
    }

    fn majority(&self) -> usize {
        self.named / 2 + 1
    }

    /// Returns the epochs that Sentinels report for this primary, the latest first.
    fn epochs(&self, primary: &Primary) -> Vec<u64> {
        let given = self.given.iter().filter(|it| it.is_at(primary));
        let mut epochs: Vec<_> = given.map(|it| it.epoch).collect();
        epochs.sort_unstable_by(|a, b| b.cmp(a));
        epochs
    }
}

/// Formats each reply.
impl fmt::Display for Votes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Primary { host, port, .. }) in self.given.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            // The name is escaped, because the reply may contain any characters.
            write!(f, "{comma}{}:{port}", host.escape_debug())?;
        }
        Ok(())
    }
}

/// The address of the primary, and the epoch of its failover.
#[derive(Debug, Clone)]
pub(crate) struct Primary {
    pub(super) epoch: u64,
    pub(super) host: String,
    pub(super) port: u16,
}

impl Primary {
    pub(crate) fn place(&self) -> u64 {
        let mut number = DefaultHasher::new();
        (&self.host, self.port).hash(&mut number);
        number.finish()
    }

    /// Returns whether another server became the primary in a failover since `other`.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.epoch > other.epoch && !self.is_at(other)
    }

    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(named: usize, given: &[(u64, u16)]) -> Votes {
        let mut votes = Votes::of(named);
        for &(epoch, port) in given {
            let host = "h".to_owned();
            votes.count(Primary { epoch, host, port });
        }
        votes
    }

    #[test]
    fn a_majority_of_all_decides_and_no_epoch_does() {
        for (named, given, elected) in [
            (1, &[(5, 1)][..], Some((5, 1))),
            (2, &[(5, 1), (5, 1)], Some((5, 1))),
            (2, &[(5, 1), (6, 2)], None),
            (3, &[(99, 2), (1, 1), (1, 1)], Some((1, 1))),
            (3, &[(99, 1), (1, 1), (2, 1)], Some((2, 1))),
            (3, &[(99, 1), (1, 1), (2, 2)], Some((1, 1))),
            (3, &[(1, 1), (2, 2)], None),
            (3, &[(1, 1), (2, 2), (3, 3)], None),
            (3, &[], None),
            (4, &[(1, 1), (1, 1), (2, 2), (2, 2)], None),
            (5, &[(1, 1), (9, 2), (9, 2), (1, 1), (1, 1)], Some((1, 1))),
        ] {
            let elected = elected.map(|(epoch, port)| (epoch, "h".to_owned(), port));
            let parts = |it: Primary| (it.epoch, it.host, it.port);
            let votes = votes(named, given);
            assert_eq!(votes.elected().map(parts), elected, "{named} {given:?}");
            assert_eq!(votes.elected_by_those_who_answered().map(parts), elected);
        }
    }

    #[test]
    fn where_few_answer_they_have_to_agree() {
        for (named, given, port) in [
            (3, &[(7, 1)][..], Some(1)),
            (5, &[(7, 1), (8, 1)], Some(1)),
            (5, &[(7, 1), (8, 2)], None),
        ] {
            let votes = votes(named, given);
            assert!(votes.elected().is_none());
            let elected = votes.elected_by_those_who_answered();
            assert_eq!(elected.as_ref().map(|it| it.port), port);
            assert!(elected.is_none_or(|it| it.epoch == 7));
        }
    }

    #[test]
    fn what_they_say_is_told_and_breaks_no_line() {
        let mut votes = votes(3, &[(1, 6)]);
        let host = "a\nb".to_owned();
        votes.count(Primary {
            epoch: 2,
            host,
            port: 7,
        });
        assert_eq!(votes.to_string(), "h:6, a\\nb:7");
    }

    #[test]
    fn only_a_later_failover_replaces_a_primary() {
        let primary = |epoch, port| Primary {
            epoch,
            host: "h".to_owned(),
            port,
        };
        assert!(primary(2, 7).replaces(&primary(1, 6)));
        assert!(!primary(1, 7).replaces(&primary(1, 6)));
        assert!(!primary(0, 7).replaces(&primary(1, 6)));
        assert!(!primary(2, 6).replaces(&primary(1, 6)));
    }
}
