//! Generates the owner ids of attempts without system calls.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::AttemptId;

/// Generates ids: a random number of this source, and a counter.
///
/// These ids can be guessed, but only this process can use them. A forked process generates the same ids. They never
/// conflict, because the two processes do not share the locks.
pub(super) struct AttemptIdSource {
    source: u64,
    count: AtomicU64,
}

impl AttemptIdSource {
    /// Returns a source whose ids are the same in each run of a test.
    #[cfg(feature = "test-util")]
    pub(super) fn reproducible() -> Self {
        Self {
            source: 0,
            count: AtomicU64::new(0),
        }
    }

    pub(super) fn draw(&self) -> AttemptId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let bytes = (u128::from(self.source) << 64 | u128::from(count)).to_be_bytes();
        AttemptId::from_random_bytes(bytes)
    }
}

impl Default for AttemptIdSource {
    fn default() -> Self {
        Self {
            source: fastrand::u64(..),
            count: AtomicU64::new(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn two_sources_never_return_the_same_id() {
        let (here, there) = (AttemptIdSource::default(), AttemptIdSource::default());
        let ids = (0..640).flat_map(|_| [here.draw(), there.draw()]);
        assert_eq!(ids.collect::<HashSet<_>>().len(), 1280);
    }
}
