//! Turns, medians and ratios.

use std::time::Duration;

use crate::canary::Canary;
use crate::report::Row;

/// A stall of the machine that makes a slice void.
pub(crate) const STALL: Duration = Duration::from_millis(25);

/// What a contestant did in one slice: one value per metric.
pub(crate) type Values = Vec<f64>;

/// The slices of one workload, round by round.
#[derive(Debug)]
pub(crate) struct Rounds {
    metrics: &'static [&'static str],
    contestants: Vec<&'static str>,
    /// By contestant, then by round; none for a void slice.
    slices: Vec<Vec<Option<Values>>>,
    canary: Canary,
}

impl Rounds {
    /// The first contestant is the one that the others are measured by.
    pub(crate) fn new(metrics: &'static [&'static str], contestants: &[&'static str]) -> Self {
        Self {
            metrics,
            contestants: contestants.to_vec(),
            slices: vec![Vec::new(); contestants.len()],
            canary: Canary::start(),
        }
    }

    pub(crate) fn slice_begins(&self) {
        self.canary.longest_stall();
    }

    pub(crate) fn slice_ends(&mut self, contestant: usize, values: Values) {
        let stalled = self.canary.longest_stall() > STALL;
        self.slices[contestant].push((!stalled).then_some(values));
    }

    /// How many slices were void, of how many.
    pub(crate) fn void(&self) -> (usize, usize) {
        let all = self.slices.iter().flatten();
        (all.clone().filter(|it| it.is_none()).count(), all.count())
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (slices, contestant) in self.slices.iter().zip(&self.contestants) {
            for (metric, name) in self.metrics.iter().enumerate() {
                let values = slices.iter().flatten().map(|values| values[metric]);
                let pairs = slices.iter().zip(&self.slices[0]);
                let ratios = pairs
                    .filter_map(|(one, raw)| Some(one.as_ref()?[metric] / raw.as_ref()?[metric]));
                rows.push(Row {
                    contestant,
                    metric: name,
                    value: median(values.collect()),
                    ratio_to_raw: median(ratios.collect()),
                });
            }
        }
        rows
    }
}

/// None of nothing.
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

/// The value below which a `part` of all lie.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(at.min(last)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn ratios_are_taken_within_rounds_and_void_slices_are_left_out() {
        let mut rounds = Rounds::new(&["n"], &["raw", "ours"]);
        rounds.slices = vec![
            vec![Some(vec![100.0]), None, Some(vec![10.0])],
            vec![Some(vec![50.0]), Some(vec![1.0]), Some(vec![5.0])],
        ];
        let rows = rounds.rows();
        assert_eq!(rows[1].ratio_to_raw, Some(0.5));
        assert_eq!(rounds.void(), (1, 6));
    }
}
