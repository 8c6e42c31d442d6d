//! Makes the owner ids of attempts, many with one system call.

use crate::OwnerId;

/// How many ids are made of what one system call fetches.
const AT_ONCE: usize = 64;

/// Ids for the attempts of one world, each of random bytes of the system.
///
/// A fork goes on with a copy of those that are still to come, and of their world: nobody meets both.
#[derive(Default)]
pub(super) struct OwnerIdSource {
    to_come: Vec<[u8; 16]>,
}

impl OwnerIdSource {
    pub(super) fn draw(&mut self) -> OwnerId {
        if self.to_come.is_empty() {
            let mut fetched = [[0; 16]; AT_ONCE];
            if getrandom::fill(fetched.as_flattened_mut()).is_ok() {
                self.to_come.extend(fetched);
            }
        }
        let bytes = self.to_come.pop();
        bytes.map_or_else(OwnerId::random, OwnerId::from_random_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_is_drawn_twice_whenever_they_are_fetched() {
        let (mut here, mut there) = (OwnerIdSource::default(), OwnerIdSource::default());
        let ids = (0..10 * AT_ONCE).flat_map(|_| [here.draw(), there.draw()]);
        assert_eq!(ids.collect::<HashSet<_>>().len(), 20 * AT_ONCE);
    }
}
