//! Counts the events of the histories.

/// How often each relevant event has happened.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Grants, except those with zero length, which are too frequent.
    pub(crate) grants: u64,
    pub(crate) hand_offs_confirmed: u64,
    pub(crate) hand_offs_lapsed: u64,
    pub(crate) owners_cleaned_up: u64,
    pub(crate) forced_releases: u64,
}

impl Tally {
    pub(crate) const NOTHING: Self = Self {
        grants: 0,
        hand_offs_confirmed: 0,
        hand_offs_lapsed: 0,
        owners_cleaned_up: 0,
        forced_releases: 0,
    };

    pub(crate) fn add(&mut self, more: &Self) {
        self.grants += more.grants;
        self.hand_offs_confirmed += more.hand_offs_confirmed;
        self.hand_offs_lapsed += more.hand_offs_lapsed;
        self.owners_cleaned_up += more.owners_cleaned_up;
        self.forced_releases += more.forced_releases;
    }

    pub(crate) fn least(&self) -> u64 {
        self.grants
            .min(self.hand_offs_confirmed)
            .min(self.hand_offs_lapsed)
            .min(self.owners_cleaned_up)
            .min(self.forced_releases)
    }
}
