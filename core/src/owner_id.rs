//! The id of one attempt to acquire.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

#[cfg(feature = "redis")]
use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

/// The identity of one attempt to acquire a lock.
///
/// Made new for every attempt: never per thread, object or process, so that no two holders can be
/// mistaken for each other and a request that is sent twice is recognised as one.
///
/// Who knows it can act as the holder where the backend is reached, so people, logs and traces see a short hash of
/// it: `Display` and `Debug` write twelve digits, which tell the owners of a key apart and from which nobody finds the id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Uuid);

impl OwnerId {
    /// A fresh random identity (UUID v4). Nobody can guess it, and it is the operating system's each time: a generator of our
    /// own would be copied by a fork, and by a snapshot of the machine, and both copies would hold the lock as one owner.
    ///
    /// # Panics
    ///
    /// If the operating system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        match getrandom::fill(&mut bytes) {
            Ok(()) => Self::from_random_bytes(bytes),
            // What uuid does depends on features that anybody in the program may switch on, so it comes second.
            Err(_nothing) => Self(Uuid::new_v4()),
        }
    }

    /// An identity made of random bytes, which are used for no other. For the
    /// [`owner_id`](crate::backend::Backend::owner_id) of backends that nobody outside of this process can reach:
    /// these may fetch bytes for many ids at once, and save a system call each time.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::OwnerId;
    ///
    /// let (one, other) = (OwnerId::from_random_bytes([7; 16]), OwnerId::from_random_bytes([8; 16]));
    /// assert_ne!(one, other);
    /// ```
    #[must_use]
    pub const fn from_random_bytes(bytes: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The whole id, as a backend keeps it and a request names it. Whoever reads it can act as this owner: it does not
    /// belong in logs.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::OwnerId;
    ///
    /// let owner = OwnerId::random();
    /// assert_eq!((owner.reveal().len(), owner.to_string().len()), (36, 12));
    /// ```
    #[must_use]
    pub fn reveal(self) -> String {
        self.0.to_string()
    }

    /// How a holder is shown that a backend names: by the short hash, if it is one of ours.
    #[cfg(any(test, feature = "redis"))]
    pub(crate) fn shown(holder: String) -> String {
        match Self::read(&holder) {
            // Other programs' ids may be written in other ways, and are theirs to hide.
            Some(owner) if owner.reveal() == holder => owner.to_string(),
            _ => holder,
        }
    }

    /// Of a random id these are as many bits as twelve digits have; the others cannot be told from them.
    fn hash(self) -> u64 {
        let (high, low) = self.0.as_u64_pair();
        mixed(high ^ mixed(low)) >> 16
    }

    /// What [`written`](Self::written) writes on.
    #[cfg(feature = "redis")]
    pub(crate) const fn buffer() -> [u8; Hyphenated::LENGTH] {
        [0; Hyphenated::LENGTH]
    }

    /// What [`reveal`](Self::reveal) answers, without an allocation.
    #[cfg(feature = "redis")]
    pub(crate) fn written(self, buffer: &mut [u8; Hyphenated::LENGTH]) -> &str {
        self.0.hyphenated().encode_lower(buffer)
    }

    /// What [`reveal`](Self::reveal) has answered.
    pub(crate) fn read(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

/// Each bit of the word becomes half of all bits (the last step of `SplitMix64`).
const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A map by ids, which are random already. A backend that makes them otherwise makes its own maps slow.
pub(crate) type OwnerMap<V> = HashMap<OwnerId, V, BuildHasherDefault<IdHasher>>;

/// Folds the bytes of an id into one number.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.0 ^= u64::from_ne_bytes(*word);
        }
        for byte in rest {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    /// How many bytes follow, which is the same for all.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl fmt::Debug for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerId({self})")
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.hash())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn people_see_a_short_hash_that_is_the_same_everywhere_and_no_part_of_the_id() {
        let owner = OwnerId::from_random_bytes([7; 16]);
        assert_eq!(owner.to_string(), "aa52a6f25af4");
        assert_eq!(format!("{owner:?}"), format!("OwnerId({owner})"));
        assert_eq!(OwnerId::shown(owner.reveal()), owner.to_string());
        let theirs = owner.reveal().replace('-', "");
        assert_eq!(OwnerId::shown(theirs.clone()), theirs);
        for owner in (0..1000).map(|_| OwnerId::random()) {
            let (shown, whole) = (owner.to_string(), owner.reveal().replace('-', ""));
            assert!(
                shown.len() == 12 && !whole.contains(&shown),
                "{shown} of {whole}"
            );
        }
        let shown: HashSet<_> = (0..10_000).map(|_| OwnerId::random().to_string()).collect();
        assert_eq!(shown.len(), 10_000);
    }

    #[test]
    fn ids_are_told_apart_and_found_again() {
        let ids: Vec<_> = (0..10_000).map(|_| OwnerId::random()).collect();
        let by_id: OwnerMap<usize> = ids.iter().copied().zip(0..).collect();
        assert!(
            ids.iter()
                .enumerate()
                .all(|(n, id)| by_id.get(id) == Some(&n))
        );
        let hashes = ids.iter().map(|id| by_id.hasher().hash_one(id));
        assert_eq!(hashes.collect::<HashSet<_>>().len(), ids.len());
    }
}
