use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rounds::{Values, quantile};

/// One acquisition, or a wait that was interrupted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) task: u32,
    pub(crate) granted: Duration,
    pub(crate) waited: Duration,
    pub(crate) served: bool,
}

/// The metrics of a slice.
pub(crate) const METRICS: &[&str] = &[
    "owner_changes_per_s",
    "acquisitions_per_s",
    "fairness_min_max",
    "wait_p50_ms",
    "wait_p999_ms",
];

/// All turns of a slice, in all processes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    turns: Vec<Turn>,
}

impl Tally {
    pub(crate) fn add(&mut self, turns: Vec<Turn>) {
        self.turns.extend(turns);
    }

    pub(crate) fn grants(&self) -> usize {
        self.turns.iter().filter(|turn| turn.served).count()
    }

    pub(crate) fn values(mut self, slice: Duration) -> Values {
        let ms = |turn: &Turn| turn.waited.as_secs_f64() * 1e3;
        let mut waits: Vec<f64> = self.turns.iter().map(ms).collect();
        waits.sort_by(f64::total_cmp);
        let fairness = self.fairness();
        self.turns.retain(|turn| turn.served);
        self.turns.sort_by_key(|turn| turn.granted);
        let pairs = self.turns.windows(2);
        let changes = pairs.filter(|pair| pair[0].task != pair[1].task).count();
        let seconds = slice.as_secs_f64();
        vec![
            changes as f64 / seconds,
            self.turns.len() as f64 / seconds,
            fairness,
            quantile(&waits, 0.5),
            quantile(&waits, 0.999),
        ]
    }

    /// Returns the fewest grants of a task, divided by the most grants of a task.
    fn fairness(&self) -> f64 {
        let mut shares = std::collections::HashMap::<u32, usize>::new();
        for turn in &self.turns {
            *shares.entry(turn.task).or_default() += usize::from(turn.served);
        }
        let (least, most) = (shares.values().min(), shares.values().max());
        match (least, most) {
            (Some(least), Some(most)) if *most > 0 => *least as f64 / *most as f64,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(task: u32, granted: u64, served: bool) -> Turn {
        Turn {
            task,
            granted: Duration::from_millis(granted),
            waited: Duration::from_millis(10),
            served,
        }
    }

    #[test]
    fn changes_of_owner_are_counted_in_the_order_of_grants() {
        let mut tally = Tally::default();
        tally.add(vec![turn(0, 1, true), turn(0, 2, true), turn(0, 4, true)]);
        tally.add(vec![turn(1, 3, true), turn(1, 9, false)]);
        assert_eq!(tally.grants(), 4);
        let values = tally.values(Duration::from_secs(1));
        assert_eq!(values[..3], [2.0, 4.0, 1.0 / 3.0]);
    }

    #[test]
    fn task_without_a_grant_makes_the_fairness_zero() {
        let mut tally = Tally::default();
        tally.add(vec![turn(0, 1, true), turn(1, 9, false)]);
        assert_eq!(tally.values(Duration::from_secs(1))[2], 0.0);
    }
}
