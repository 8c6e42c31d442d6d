//! A counter and a list, which each change reads and writes back after a pause.
//!
//! Each entry has a unique id, and entries are never removed. So the final list shows the only possible order of the
//! changes, and the check of linearizability needs no search. The history is linearizable if each confirmed change is
//! in the list once, and directly after the entries that it has read. It must also be after every change that was
//! answered before it began.

use std::collections::{HashMap, HashSet};

use leasehold_testkit::history::Moment;

use crate::record::{Change, Outcome};

/// The stored counter and list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The expected number of entries.
    pub counter: i64,
    /// The ids of the changes, in order.
    pub entries: Vec<String>,
}

impl Ledger {
    /// Parses the stored form: the ids, each followed by a space.
    #[must_use]
    pub fn of(counter: i64, entries: &str) -> Self {
        let entries = entries.split_whitespace().map(ToOwned::to_owned).collect();
        Self { counter, entries }
    }

    /// Returns the entries in their stored form.
    #[must_use]
    pub fn text(&self) -> String {
        self.entries.iter().map(|it| format!("{it} ")).collect()
    }

    /// Adds an entry.
    #[must_use]
    pub fn with(mut self, id: &str) -> Self {
        self.counter += 1;
        self.entries.push(id.to_owned());
        self
    }
}

/// Returns the confirmed changes that are not in the list.
#[must_use]
pub fn lost<'c>(changes: &[&'c Change], left: &Ledger) -> Vec<&'c str> {
    let there: HashSet<&str> = left.entries.iter().map(String::as_str).collect();
    let confirmed = changes.iter().filter(|it| it.outcome == Outcome::Applied);
    let ids = confirmed.map(|it| it.id.as_str());
    ids.filter(|id| !there.contains(id)).collect()
}

/// Returns why these changes, one after another, cannot have produced this ledger from an empty one.
#[must_use]
pub fn not_linearizable(changes: &[&Change], left: &Ledger) -> Vec<String> {
    let mut found: Vec<String> = lost(changes, left)
        .into_iter()
        .map(|id| format!("{id} was confirmed and is lost"))
        .collect();
    if usize::try_from(left.counter) != Ok(left.entries.len()) {
        let (counter, entries) = (left.counter, left.entries.len());
        found.push(format!(
            "the counter is {counter}, and there are {entries} entries"
        ));
    }
    let known: HashMap<&str, &Change> = changes.iter().map(|it| (it.id.as_str(), *it)).collect();
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    for (place, id) in left.entries.iter().enumerate() {
        if !seen.insert(id) {
            found.push(format!("{id} is there twice"));
        }
        let Some(change) = known.get(id.as_str()) else {
            found.push(format!("{id} is there, and nobody has written it"));
            continue;
        };
        if change.outcome == Outcome::Refused {
            found.push(format!("{id} was refused and is there"));
        }
        let before = place
            .checked_sub(1)
            .map_or("", |last| left.entries[last].as_str());
        if let Some((count, last)) = &change.read
            && (*count != place || last != before)
        {
            found.push(format!(
                "{id} has read {count} entries up to `{last}`, and stands behind {place} up to `{before}`"
            ));
        }
        order.push(*change);
    }
    found.extend(overtaken(&order));
    found
}

/// Returns the changes that precede another one which was answered before they began.
pub(super) fn overtaken(order: &[&Change]) -> Vec<String> {
    let mut found = Vec::new();
    let mut earliest: Option<(Moment, &Change)> = None;
    for change in order.iter().rev() {
        if let Some((ended, later)) = earliest
            && ended < change.begun
        {
            let (id, other) = (&change.id, &later.id);
            found.push(format!(
                "{id} stands before {other}, which was answered before it began"
            ));
        }
        if let Some(ended) = change.ended
            && earliest.is_none_or(|(other, _)| ended < other)
        {
            earliest = Some((ended, change));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Work;

    /// Returns a change with these times, after `read.0` entries, the last of which is `read.1`.
    fn change(id: &str, times: (u64, u64), read: (usize, &str)) -> Change {
        Change {
            id: id.to_owned(),
            store: "sqlite".to_owned(),
            work: Work::Ledger,
            token: 1,
            begun: Moment(times.0),
            ended: Some(Moment(times.1)),
            outcome: Outcome::Applied,
            read: Some((read.0, read.1.to_owned())),
        }
    }

    fn found(changes: &[Change], counter: i64, entries: &str) -> Vec<String> {
        let changes: Vec<&Change> = changes.iter().collect();
        not_linearizable(&changes, &Ledger::of(counter, entries))
    }

    #[test]
    fn concurrent_changes_are_accepted_in_either_order() {
        let (a, b) = (change("a", (1, 4), (0, "")), change("b", (3, 6), (1, "a")));
        assert_eq!(found(&[a, b], 2, "a b "), [""; 0]);
        let (a, b) = (change("a", (1, 4), (1, "b")), change("b", (3, 6), (0, "")));
        assert_eq!(found(&[a, b], 2, "b a "), [""; 0]);
    }

    #[test]
    fn a_lost_update_is_found() {
        // Both changes have read the same entries, and the second one has overwritten the first.
        let (a, b) = (change("a", (1, 4), (0, "")), change("b", (3, 6), (0, "")));
        let found = found(&[a, b], 1, "b ");
        assert_eq!(found, ["a was confirmed and is lost"]);
    }

    #[test]
    fn read_that_misses_an_earlier_change_is_found() {
        let (a, b) = (change("a", (1, 2), (0, "")), change("b", (3, 6), (0, "")));
        assert_eq!(found(&[a, b], 2, "a b ").len(), 1);
    }

    #[test]
    fn order_that_contradicts_time_is_found() {
        let (a, b) = (change("a", (1, 2), (1, "b")), change("b", (3, 6), (0, "")));
        let found = found(&[a, b], 2, "b a ");
        assert!(found[0].contains("answered before"), "{found:?}");
    }

    #[test]
    fn refused_change_must_be_absent_and_unknown_one_may_be_present() {
        let refused = [Change {
            outcome: Outcome::Refused,
            ..change("a", (1, 2), (0, ""))
        }];
        assert_eq!(found(&refused, 0, ""), [""; 0]);
        assert_eq!(found(&refused, 1, "a ").len(), 1);
        let unknown = [Change {
            outcome: Outcome::Unknown,
            ended: None,
            ..change("a", (1, 2), (0, ""))
        }];
        assert_eq!(found(&unknown, 0, ""), [""; 0]);
        assert_eq!(found(&unknown, 1, "a "), [""; 0]);
    }

    #[test]
    fn wrong_counter_and_foreign_or_duplicate_entries_are_found() {
        let a = change("a", (1, 2), (0, ""));
        assert_eq!(found(std::slice::from_ref(&a), 2, "a ").len(), 1);
        assert_eq!(found(&[], 1, "x ").len(), 1);
        assert!(!found(&[a], 2, "a a ").is_empty());
    }
}
