//! Collects slices, and computes medians and ratios.

use std::time::Duration;

use crate::report::{Outcome, Row};
use crate::stall_monitor::StallMonitor;

/// A stall of this duration makes a slice void.
pub(crate) const STALL: Duration = Duration::from_millis(25);

/// The figures of a contestant in one slice, one per metric. NaN stands for an unknown figure.
pub(crate) type Values = Vec<f64>;

/// The slices of one workload, round by round.
#[derive(Debug)]
pub(crate) struct Rounds {
    metrics: Vec<&'static str>,
    contestants: Vec<&'static str>,
    /// The slices by contestant, then by round. `None` for a void slice.
    slices: Vec<Vec<Option<Values>>>,
    stall_monitor: StallMonitor,
}

impl Rounds {
    /// Creates empty rounds. The other contestants are compared with the first one.
    pub(crate) fn new(metrics: &[&'static str], contestants: &[&'static str]) -> Self {
        Self {
            metrics: metrics.to_vec(),
            contestants: contestants.to_vec(),
            slices: vec![Vec::new(); contestants.len()],
            stall_monitor: StallMonitor::start(),
        }
    }

    pub(crate) fn slice_begins(&self) {
        self.stall_monitor.longest_stall();
    }

    pub(crate) fn slice_ends(&mut self, contestant: usize, values: Values) {
        let stalled = self.stall_monitor.longest_stall() > STALL;
        self.slices[contestant].push((!stalled).then_some(values));
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let all = self.slices.iter().flatten();
        Outcome {
            rows: self.rows(),
            void: (all.clone().filter(|it| it.is_none()).count(), all.count()),
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (slices, contestant) in self.slices.iter().zip(&self.contestants) {
            for (at, metric) in self.metrics.iter().enumerate() {
                let values = |slices: &[Option<Values>]| -> Vec<Option<f64>> {
                    let known = |values: &Values| Some(values[at]).filter(|it| it.is_finite());
                    slices
                        .iter()
                        .map(|it| it.as_ref().and_then(known))
                        .collect()
                };
                let (slices, first) = (values(slices), values(&self.slices[0]));
                rows.push(Row {
                    contestant,
                    metric,
                    value: median(slices.iter().flatten().copied().collect()),
                    ratio_to_first: ratio(&slices, &first),
                    slices,
                });
            }
        }
        rows
    }
}

/// Returns the median of the ratios within each round.
pub(crate) fn ratio(slices: &[Option<f64>], to: &[Option<f64>]) -> Option<f64> {
    let ratios = slices
        .iter()
        .zip(to)
        .filter_map(|(a, b)| Some((*a)? / (*b)?));
    median(ratios.filter(|it| it.is_finite()).collect())
}

/// Returns the median, or `None` if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    let value = *values.get(upper)?;
    if values.len().is_multiple_of(2) {
        Some(f64::midpoint(values[upper - 1], value))
    } else {
        Some(value)
    }
}

/// Returns the value below which the fraction `part` of all values lies.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(at.min(last)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_value_or_the_mean_of_two() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn ratios_compare_values_within_a_round_and_skip_void_slices() {
        let mut rounds = Rounds::new(&["n"], &["raw", "ours"]);
        rounds.slices = vec![
            vec![Some(vec![100.0]), None, Some(vec![10.0])],
            vec![Some(vec![50.0]), Some(vec![1.0]), Some(vec![5.0])],
        ];
        let outcome = rounds.outcome();
        assert_eq!(outcome.rows[1].ratio_to_first, Some(0.5));
        assert_eq!(outcome.void, (1, 6));
    }

    #[test]
    fn nan_values_are_ignored() {
        let mut rounds = Rounds::new(&["n"], &["raw"]);
        rounds.slices = vec![vec![Some(vec![f64::NAN]), Some(vec![2.0])]];
        assert_eq!(rounds.outcome().rows[0].value, Some(2.0));
    }
}
