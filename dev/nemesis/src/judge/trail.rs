//! A list of tokens, which holders append.

use std::collections::HashSet;

use super::ledger::overtaken;
use crate::record::{Change, Outcome};

/// The stored tokens with the ids of their changes, in the order of their writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail(pub Vec<(i64, String)>);

impl Trail {
    /// Parses the stored form: `token:id`, each followed by a space. An invalid entry has the token 0.
    #[must_use]
    pub fn of(entries: &str) -> Self {
        let entry = |it: &str| {
            let (token, id) = it.split_once(':').unwrap_or(("0", it));
            (token.parse().unwrap_or_default(), id.to_owned())
        };
        Self(entries.split_whitespace().map(entry).collect())
    }

    /// Returns an entry in its stored form.
    #[must_use]
    pub fn entry(token: i64, id: &str) -> String {
        format!("{token}:{id} ")
    }
}

/// Returns how many writes followed one with a newer token.
#[must_use]
pub fn steps_back(trail: &Trail) -> usize {
    let mut newest = 0;
    let stale = trail.0.iter().filter(|(token, _)| {
        newest = newest.max(*token);
        *token < newest
    });
    stale.count()
}

/// Returns why these fenced writes cannot have produced this trail.
#[must_use]
pub fn not_in_order(changes: &[&Change], trail: &Trail) -> Vec<String> {
    let mut found = Vec::new();
    let mut newest = (0, "");
    let mut there = HashSet::new();
    let mut order = Vec::new();
    for (token, id) in &trail.0 {
        if *token < newest.0 {
            let (newer, other) = newest;
            found.push(format!(
                "{id} with {token} was written after {other} with {newer}"
            ));
        } else {
            newest = (*token, id.as_str());
        }
        if !there.insert(id.as_str()) {
            found.push(format!("{id} is there twice"));
        }
        match changes.iter().find(|it| it.id == *id) {
            Some(change) if change.outcome == Outcome::Refused => {
                found.push(format!("{id} was refused and is there"));
            }
            Some(change) => order.push(*change),
            None => found.push(format!("{id} is there, and nobody has written it")),
        }
    }
    let confirmed = changes.iter().filter(|it| it.outcome == Outcome::Applied);
    let lost = confirmed.filter(|it| !there.contains(it.id.as_str()));
    found.extend(lost.map(|it| format!("{} was confirmed and is lost", it.id)));
    found.extend(overtaken(&order));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Work;
    use leasehold_testkit::history::Moment;

    fn change(id: &str, token: i64, outcome: Outcome) -> Change {
        Change {
            id: id.to_owned(),
            store: "sqlite".to_owned(),
            work: Work::Trail,
            token,
            begun: Moment(1),
            ended: None,
            outcome,
            read: None,
        }
    }

    #[test]
    fn a_stale_write_after_a_newer_one_is_found() {
        let changes = ["a", "b", "c"].map(|id| change(id, 1, Outcome::Applied));
        let changes: Vec<&Change> = changes.iter().collect();
        let trail = Trail::of("7:a 9:b 9:c ");
        assert_eq!(not_in_order(&changes, &trail), [""; 0]);
        assert_eq!(steps_back(&trail), 0);
        let trail = Trail::of("9:a 7:b 8:c ");
        assert_eq!(not_in_order(&changes, &trail).len(), 2);
        assert_eq!(steps_back(&trail), 2);
    }

    #[test]
    fn confirmed_write_must_be_present_and_refused_one_absent() {
        let (a, b) = (
            change("a", 7, Outcome::Applied),
            change("b", 8, Outcome::Refused),
        );
        assert_eq!(not_in_order(&[&a, &b], &Trail::of("7:a ")), [""; 0]);
        assert_eq!(not_in_order(&[&a, &b], &Trail::of("7:a 8:b ")).len(), 1);
        assert_eq!(not_in_order(&[&a, &b], &Trail::of("")).len(), 1);
        assert_eq!(not_in_order(&[&a], &Trail::of("7:a 7:a 1:x")).len(), 3);
    }
}
