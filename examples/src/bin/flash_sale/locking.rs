use std::fmt::Display;
use std::str::FromStr;

/// How purchases are kept from interfering with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locking {
    Nothing,
    /// A mutex in each instance. The instances do not share it.
    EachInstance,
    /// The lock of Leasehold, but a plain pool.
    Unfenced,
    Leasehold,
}

impl Locking {
    pub(crate) const ALL: [Self; 4] = [
        Self::Nothing,
        Self::EachInstance,
        Self::Unfenced,
        Self::Leasehold,
    ];

    /// Returns the name for the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "without a lock",
            Self::EachInstance => "a lock in each instance",
            Self::Unfenced => "a lock, but a plain pool",
            Self::Leasehold => "with Leasehold",
        }
    }

    /// Returns the name for the URL.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "unlocked",
            Self::EachInstance => "instance-lock",
            Self::Unfenced => "unfenced",
            Self::Leasehold => "leasehold",
        }
    }

    /// Returns whether the instances share the lock.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Self::Unfenced | Self::Leasehold)
    }

    /// Returns the path of a purchase.
    pub(crate) fn purchase(self, item: impl Display, buyer: &str) -> String {
        let word = self.word();
        format!("/{word}/items/{item}/buy/{buyer}")
    }

    /// Returns the path of a purchase whose write is late.
    pub(crate) fn late_purchase(self, item: impl Display) -> String {
        let word = self.word();
        format!("/{word}/items/{item}/stall")
    }
}

/// The error for a word that does not name a [`Locking`].
#[derive(Debug, thiserror::Error)]
#[error("expected unlocked, instance-lock, unfenced or leasehold")]
pub(crate) struct UnknownLocking;

impl FromStr for Locking {
    type Err = UnknownLocking;

    fn from_str(word: &str) -> Result<Self, UnknownLocking> {
        let known = Self::ALL.into_iter().find(|it| it.word() == word);
        known.ok_or(UnknownLocking)
    }
}
