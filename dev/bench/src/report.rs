//! The outcome of a workload, and its printed table.

use serde::Serialize;

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) contestant: &'static str,
    pub(crate) metric: &'static str,
    /// `None` if all slices were void.
    pub(crate) value: Option<f64>,
    pub(crate) ratio_to_first: Option<f64>,
    /// The figures of the slices, whose median is the value. `None` for a void slice.
    pub(crate) slices: Vec<Option<f64>>,
}

impl Row {
    /// Creates a figure from a single measurement.
    pub(crate) fn single(contestant: &'static str, metric: &'static str, value: f64) -> Self {
        Self {
            contestant,
            metric,
            value: Some(value),
            ratio_to_first: None,
            slices: vec![Some(value)],
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// The number of void slices, and of all slices.
    pub(crate) void: (usize, usize),
}

impl Outcome {
    /// Creates the outcome of a workload that cannot be measured on this machine.
    pub(crate) fn none() -> Self {
        Self {
            rows: Vec::new(),
            void: (0, 0),
        }
    }

    /// Joins the outcomes of several plans with the same contestants.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let mut joined = Self::none();
        for part in parts {
            joined.rows.extend(part.rows);
            joined.void.0 += part.void.0;
            joined.void.1 += part.void.1;
        }
        let mut contestants: Vec<_> = joined.rows.iter().map(|row| row.contestant).collect();
        contestants.dedup();
        let place = |row: &Row| contestants.iter().position(|it| *it == row.contestant);
        joined.rows.sort_by_key(place);
        joined
    }

    /// Creates the outcome of a workload without slices.
    pub(crate) fn single(contestant: &'static str, figures: &[(&'static str, f64)]) -> Self {
        Self {
            rows: figures
                .iter()
                .map(|(metric, value)| Row::single(contestant, metric, *value))
                .collect(),
            void: (0, 1),
        }
    }
}

/// Prints a row per contestant and a column per metric: the figure, and its ratio to the first contestant's figure.
pub(crate) fn print(workload: &str, outcome: &Outcome) {
    let (void, of) = outcome.void;
    println!("\n{workload}   ({void} of {of} slices void)");
    let mut contestants: Vec<_> = outcome.rows.iter().map(|row| row.contestant).collect();
    contestants.dedup();
    let mut metrics: Vec<&str> = Vec::new();
    for row in &outcome.rows {
        if !metrics.contains(&row.metric) {
            metrics.push(row.metric);
        }
    }
    for few in metrics.chunks(4) {
        let header: String = few.iter().map(|it| format!("{it:>24}")).collect();
        println!("  {:24}{header}", "");
        for contestant in &contestants {
            let cells = few.iter().map(|metric| {
                let mut rows = outcome.rows.iter();
                rows.find(|row| row.contestant == *contestant && row.metric == *metric)
                    .map_or(" ".repeat(24), cell)
            });
            println!("  {contestant:24}{}", cells.collect::<String>());
        }
    }
}

fn cell(row: &Row) -> String {
    let value = row.value.map_or("–".to_owned(), figure);
    let ratio = row.ratio_to_first.map_or(String::new(), |ratio| {
        format!(
            "({})",
            if ratio >= 100.0 {
                figure(ratio)
            } else {
                format!("{ratio:.3}")
            }
        )
    });
    format!("{value:>14} {ratio:>9}")
}

/// Formats a number with at least three digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_outcomes_have_all_rows_of_a_contestant_together() {
        let part = |metric| Outcome {
            rows: ["ours", "theirs"]
                .map(|it| Row::single(it, metric, 1.0))
                .into(),
            void: (1, 2),
        };
        let joined = Outcome::joined(vec![part("a"), part("b")]);
        let rows: Vec<_> = joined
            .rows
            .iter()
            .map(|it| (it.contestant, it.metric))
            .collect();
        let expected = [
            ("ours", "a"),
            ("ours", "b"),
            ("theirs", "a"),
            ("theirs", "b"),
        ];
        assert_eq!(rows, expected);
        assert_eq!(joined.void, (2, 4));
    }
}
