//! Counts the events of the histories.

use crate::step::Family;

/// How often each relevant event has happened.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) granted_alone: u64,
    pub(crate) granted_beside_others: u64,
    pub(crate) second_copies: u64,
    pub(crate) handed_on_together: u64,
    pub(crate) hand_offs_confirmed: u64,
    pub(crate) passed_on: u64,
    pub(crate) kept_back_by_a_waiter: u64,
    pub(crate) downgraded: u64,
    pub(crate) taken_up: u64,
    pub(crate) spent: u64,
    pub(crate) late: u64,
    pub(crate) leases_ended: u64,
    pub(crate) passed_over_deaf: u64,
    pub(crate) purged: u64,
    pub(crate) renewals_refused: u64,
    pub(crate) records_refused: u64,
}

/// Events that cannot happen with permits.
const NOT_PERMITS: [&str; 5] = ["passed_on", "downgraded", "taken_up", "spent", "late"];

/// The checked event of histories with recorded outcomes. Other histories do not have this event.
const OF_ONCE: &str = "records_refused";

/// Events that happen only on a server.
const ON_A_SERVER: [&str; 3] = ["passed_on", "passed_over_deaf", "purged"];

impl Tally {
    pub(crate) const NOTHING: Self = Self {
        granted_alone: 0,
        granted_beside_others: 0,
        second_copies: 0,
        handed_on_together: 0,
        hand_offs_confirmed: 0,
        passed_on: 0,
        kept_back_by_a_waiter: 0,
        downgraded: 0,
        taken_up: 0,
        spent: 0,
        late: 0,
        leases_ended: 0,
        passed_over_deaf: 0,
        purged: 0,
        renewals_refused: 0,
        records_refused: 0,
    };

    fn all(&mut self) -> [(&'static str, &mut u64); 16] {
        [
            ("granted_alone", &mut self.granted_alone),
            ("granted_beside_others", &mut self.granted_beside_others),
            ("second_copies", &mut self.second_copies),
            ("handed_on_together", &mut self.handed_on_together),
            ("hand_offs_confirmed", &mut self.hand_offs_confirmed),
            ("passed_on", &mut self.passed_on),
            ("kept_back_by_a_waiter", &mut self.kept_back_by_a_waiter),
            ("downgraded", &mut self.downgraded),
            ("taken_up", &mut self.taken_up),
            ("spent", &mut self.spent),
            ("late", &mut self.late),
            ("leases_ended", &mut self.leases_ended),
            ("passed_over_deaf", &mut self.passed_over_deaf),
            ("purged", &mut self.purged),
            ("renewals_refused", &mut self.renewals_refused),
            ("records_refused", &mut self.records_refused),
        ]
    }

    pub(crate) fn add(&mut self, more: &Self) {
        let mut more = more.clone();
        let pairs = self.all().into_iter().zip(more.all());
        pairs.for_each(|((_, total), (_, more))| *total += *more);
    }

    /// Returns the possible events that have happened less than `times` times.
    pub(crate) fn rarer_than<F: Family>(&self, times: u64, server: bool) -> Vec<&'static str> {
        let mut all = self.clone();
        let rare = all.all().into_iter().filter(|(_, n)| **n < times);
        rare.map(|(name, _)| name)
            .filter(|name| F::ONCE == (*name == OF_ONCE))
            .filter(|name| !(F::PERMITS && NOT_PERMITS.contains(name)))
            .filter(|name| server || !ON_A_SERVER.contains(name))
            .collect()
    }
}
