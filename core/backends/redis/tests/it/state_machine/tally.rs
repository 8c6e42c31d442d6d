//! Counts the events of the histories.

/// How often each relevant event has happened.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) grants: u64,
    pub(crate) second_copies: u64,
    pub(crate) hand_offs: u64,
    pub(crate) hand_offs_confirmed: u64,
    pub(crate) passed_on: u64,
    pub(crate) passed_over_deaf: u64,
    pub(crate) purged: u64,
    pub(crate) foreign_holds: u64,
    pub(crate) renewals_refused: u64,
}

impl Tally {
    pub(crate) const NOTHING: Self = Self {
        grants: 0,
        second_copies: 0,
        hand_offs: 0,
        hand_offs_confirmed: 0,
        passed_on: 0,
        passed_over_deaf: 0,
        purged: 0,
        foreign_holds: 0,
        renewals_refused: 0,
    };

    fn all(&mut self) -> [&mut u64; 9] {
        [
            &mut self.grants,
            &mut self.second_copies,
            &mut self.hand_offs,
            &mut self.hand_offs_confirmed,
            &mut self.passed_on,
            &mut self.passed_over_deaf,
            &mut self.purged,
            &mut self.foreign_holds,
            &mut self.renewals_refused,
        ]
    }

    pub(crate) fn add(&mut self, more: &Self) {
        let mut more = more.clone();
        let pairs = self.all().into_iter().zip(more.all());
        pairs.for_each(|(total, more)| *total += *more);
    }

    pub(crate) fn least(&self) -> u64 {
        let least = self.clone().all().into_iter().map(|n| *n).min();
        least.unwrap_or_default()
    }
}
