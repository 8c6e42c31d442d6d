//! Generates the owner ids of attempts, many with one system call.

use crate::AttemptId;

/// The number of ids that one system call provides.
const AT_ONCE: usize = 64;

/// Generates ids for attempts, each from random bytes of the operating system.
///
/// A forked process has copies of the unused ids and of the locks. The copied ids never conflict, because the two
/// processes do not share the locks.
#[derive(Default)]
pub(super) struct AttemptIdSource {
    to_come: Vec<[u8; 16]>,
    /// The source of the ids, if each run of a test must have the same ids.
    #[cfg(feature = "test-util")]
    reproducible: Option<fastrand::Rng>,
}

impl AttemptIdSource {
    #[cfg(feature = "test-util")]
    pub(super) fn reproducible() -> Self {
        Self {
            to_come: Vec::new(),
            reproducible: Some(fastrand::Rng::with_seed(0)),
        }
    }

    pub(super) fn draw(&mut self) -> AttemptId {
        #[cfg(feature = "test-util")]
        if let Some(random) = &mut self.reproducible {
            return AttemptId::from_random_bytes(random.u128(..).to_le_bytes());
        }
        if self.to_come.is_empty() {
            let mut fetched = [[0; 16]; AT_ONCE];
            if getrandom::fill(fetched.as_flattened_mut()).is_ok() {
                self.to_come.extend(fetched);
            }
        }
        let bytes = self.to_come.pop();
        bytes.map_or_else(AttemptId::random, AttemptId::from_random_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_is_drawn_twice_whenever_they_are_fetched() {
        let (mut here, mut there) = (AttemptIdSource::default(), AttemptIdSource::default());
        let ids = (0..10 * AT_ONCE).flat_map(|_| [here.draw(), there.draw()]);
        assert_eq!(ids.collect::<HashSet<_>>().len(), 20 * AT_ONCE);
    }
}
