//! All figures of this run.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::BoxError;
use crate::answer::Answer;
use crate::contestant::Way;
use crate::report::{Outcome, Row};
use crate::rounds;

/// The outcomes, by workload.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    outcomes: Vec<(String, Outcome)>,
}

/// Names a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) workload: &'a str,
    pub(crate) metric: &'a str,
}

impl Ledger {
    pub(crate) fn add(&mut self, workload: &str, outcome: Outcome) {
        self.outcomes.push((workload.to_owned(), outcome));
    }

    pub(crate) fn rows<'a>(&'a self, place: Place<'a>) -> impl Iterator<Item = &'a Row> + Clone {
        let same = self
            .outcomes
            .iter()
            .filter(move |it| it.0 == place.workload);
        let rows = same.flat_map(|(_, outcome)| &outcome.rows);
        rows.filter(move |row| row.metric == place.metric)
    }

    fn row<'a>(&'a self, place: Place<'a>, contestant: &str) -> Option<&'a Row> {
        self.rows(place).find(|row| row.contestant == contestant)
    }

    pub(crate) fn value(&self, place: Place<'_>, contestant: &str) -> Option<f64> {
        self.row(place, contestant)?.value
    }

    /// Returns the CPU time of client and server per grant, in microseconds.
    pub(crate) fn cost(&self, workload: &str, contestant: &str) -> Option<f64> {
        let of = |metric| self.value(Place { workload, metric }, contestant);
        Some(of("client_us_per_grant")? + of("server_us_per_grant")?)
    }

    /// Returns the figure of one contestant divided by that of another: the median of the ratios within each round.
    pub(crate) fn ratio(&self, place: Place<'_>, of: &str, to: &str) -> Option<f64> {
        let (of, to) = (self.row(place, of)?, self.row(place, to)?);
        rounds::ratio(&of.slices, &to.slices)
    }

    /// Returns one figure of a contestant divided by another of its figures: the median of the ratios within each
    /// round.
    pub(crate) fn growth(
        &self,
        workload: &str,
        contestant: &str,
        (of, to): (&str, &str),
    ) -> Option<f64> {
        let row = |metric| self.row(Place { workload, metric }, contestant);
        rounds::ratio(&row(of)?.slices, &row(to)?.slices)
    }

    /// Returns the peer with the largest figure, or with the smallest.
    pub(crate) fn best_peer(&self, place: Place<'_>, largest: bool) -> Option<&'static str> {
        let peers = self.rows(place).filter(|row| Way::is_peer(row.contestant));
        let known = peers.filter_map(|row| Some((row.contestant, row.value?)));
        let sign = if largest { 1.0 } else { -1.0 };
        let best = known.max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
        best.map(|(name, _)| name)
    }

    pub(crate) fn write(
        &self,
        file: &Path,
        machine: &str,
        loads: [&str; 2],
        answers: &[Answer],
    ) -> Result<(), BoxError> {
        let workloads = self
            .outcomes
            .iter()
            .map(|(name, outcome)| Entry { name, outcome });
        let all = Document {
            machine,
            load_before: loads[0],
            load_after: loads[1],
            workloads: workloads.collect(),
            answers,
        };
        let cannot = |error| format!("{} cannot be written: {error}", file.display());
        Ok(fs::write(file, serde_json::to_string_pretty(&all)?).map_err(cannot)?)
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    machine: &'a str,
    load_before: &'a str,
    load_after: &'a str,
    workloads: Vec<Entry<'a>>,
    answers: &'a [Answer],
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place {
        workload: "w",
        metric: "n",
    };

    fn row(contestant: &'static str, slices: &[Option<f64>]) -> Row {
        Row {
            contestant,
            metric: "n",
            value: rounds::median(slices.iter().flatten().copied().collect()),
            ratio_to_first: None,
            slices: slices.to_vec(),
        }
    }

    fn ledger() -> Ledger {
        let rows = vec![
            row("same scripts by hand", &[Some(1.0), Some(1.0)]),
            row("leasehold", &[Some(8.0), Some(2.0)]),
            row("rslock", &[Some(4.0), Some(1.0)]),
            row("distkit", &[Some(3.0), None]),
        ];
        let mut ledger = Ledger::default();
        ledger.add("w", Outcome { rows, void: (1, 8) });
        ledger
    }

    #[test]
    fn ratio_compares_values_of_the_same_round() {
        assert_eq!(ledger().ratio(PLACE, "leasehold", "rslock"), Some(2.0));
        assert_eq!(ledger().ratio(PLACE, "leasehold", "nobody"), None);
    }

    #[test]
    fn best_peer_is_another_library() {
        assert_eq!(ledger().best_peer(PLACE, true), Some("distkit"));
        assert_eq!(ledger().best_peer(PLACE, false), Some("rslock"));
    }
}
