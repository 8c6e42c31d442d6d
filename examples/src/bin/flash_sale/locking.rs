use std::str::FromStr;

/// What keeps purchases from getting in each other's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locking {
    Nothing,
    /// A mutex in each instance, which knows nothing of the other's.
    EachInstance,
    Leasehold,
}

impl Locking {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::EachInstance, Self::Leasehold];

    /// As a table says it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "without a lock",
            Self::EachInstance => "a lock in each instance",
            Self::Leasehold => "with Leasehold",
        }
    }

    /// As an address says it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "unlocked",
            Self::EachInstance => "instance-lock",
            Self::Leasehold => "leasehold",
        }
    }

    /// What an instance is to be asked for.
    pub(crate) fn purchase(self, item: i64, buyer: &str) -> String {
        let word = self.word();
        format!("/{word}/items/{item}/buy/{buyer}")
    }
}

/// No [`Locking`] goes by that word.
#[derive(Debug, thiserror::Error)]
#[error("unlocked, instance-lock or leasehold")]
pub(crate) struct UnknownLocking;

impl FromStr for Locking {
    type Err = UnknownLocking;

    fn from_str(word: &str) -> Result<Self, UnknownLocking> {
        let known = Self::ALL.into_iter().find(|it| it.word() == word);
        known.ok_or(UnknownLocking)
    }
}
