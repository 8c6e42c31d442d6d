use std::str::FromStr;

/// How purchases are kept from interfering with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locking {
    Nothing,
    /// A mutex in each instance. The instances do not share it.
    EachInstance,
    Leasehold,
}

impl Locking {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::EachInstance, Self::Leasehold];

    /// Returns the name for the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "without a lock",
            Self::EachInstance => "a lock in each instance",
            Self::Leasehold => "with Leasehold",
        }
    }

    /// Returns the name for the URL.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "unlocked",
            Self::EachInstance => "instance-lock",
            Self::Leasehold => "leasehold",
        }
    }

    /// Returns the path of a purchase.
    pub(crate) fn purchase(self, item: i64, buyer: &str) -> String {
        let word = self.word();
        format!("/{word}/items/{item}/buy/{buyer}")
    }
}

/// The error for a word that does not name a [`Locking`].
#[derive(Debug, thiserror::Error)]
#[error("expected unlocked, instance-lock or leasehold")]
pub(crate) struct UnknownLocking;

impl FromStr for Locking {
    type Err = UnknownLocking;

    fn from_str(word: &str) -> Result<Self, UnknownLocking> {
        let known = Self::ALL.into_iter().find(|it| it.word() == word);
        known.ok_or(UnknownLocking)
    }
}
