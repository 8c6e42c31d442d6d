use std::fmt;

use uuid::Uuid;
#[cfg(feature = "redis")]
use uuid::fmt::Hyphenated;

/// The identity of one attempt to acquire a lock.
///
/// Made new for every attempt: never per thread, object or process, so that no two holders can be
/// mistaken for each other and a request that is sent twice is recognised as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Uuid);

impl OwnerId {
    /// A fresh random identity (UUID v4), from a generator of this thread that the operating system seeds: nobody can guess
    /// it. Processes that are forked copy the generator, as they do not copy a runtime, and must not go on with it.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// What [`written`](Self::written) writes on.
    #[cfg(feature = "redis")]
    pub(crate) const fn paper() -> [u8; Hyphenated::LENGTH] {
        [0; Hyphenated::LENGTH]
    }

    /// What `Display` writes, without an allocation.
    #[cfg(feature = "redis")]
    pub(crate) fn written(self, paper: &mut [u8; Hyphenated::LENGTH]) -> &str {
        self.0.hyphenated().encode_lower(paper)
    }

    /// What `Display` has written.
    pub(crate) fn read(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl fmt::Debug for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerId({})", self.0)
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
