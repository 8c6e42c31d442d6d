//! The id of one attempt to acquire.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use uuid::{Builder, Uuid};

use super::label::MAX_LABEL_BYTES;

/// The number of characters of an id without a label.
const ID_CHARS: usize = uuid::fmt::Hyphenated::LENGTH;

/// The number of characters of an id with the longest label, as Redis stores it.
const MAX_CHARS: usize = ID_CHARS + 1 + MAX_LABEL_BYTES;

/// The identity of one attempt to acquire a lock.
///
/// Each attempt gets a new id. Threads, objects and processes do not have fixed ids. So two holders never have the same
/// id, and the backend recognises a duplicate request by its id.
///
/// A client that knows the id can act as the holder on the backend. So logs and traces show a short hash. `Display` and
/// `Debug` write twelve digits, which distinguish the owners of a key and do not reveal the id.
///
/// The id of a manager's attempt also carries the [label](Self::label) of the manager. Comparisons ignore the label.
#[derive(Clone, Copy)]
pub struct AttemptId {
    id: Uuid,
    label: Option<&'static str>,
}

impl AttemptId {
    /// Returns a new random id (UUID v4), which cannot be guessed. The operating system generates each id. A fork or a
    /// machine snapshot would copy a generator in this process, and both copies would then acquire locks under the same
    /// id.
    ///
    /// # Panics
    ///
    /// Panics if the operating system cannot provide random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        match getrandom::fill(&mut bytes) {
            Ok(()) => Self::from_random_bytes(bytes),
            // The generator of `uuid` depends on features that any crate in the program may enable, so it is only the
            // fallback.
            Err(_nothing) => Self::unlabelled(Uuid::new_v4()),
        }
    }

    /// Returns an id made of `bytes`, of which 6 bits are overwritten. No other id may be made of the same bytes. Use this
    /// function for the [`attempt_id`](crate::backend::Backend::attempt_id) of backends that only this process can reach.
    /// Such a backend need not use random bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::AttemptId;
    ///
    /// let (one, other) = (AttemptId::from_random_bytes([7; 16]), AttemptId::from_random_bytes([8; 16]));
    /// assert_ne!(one, other);
    /// ```
    #[must_use]
    pub const fn from_random_bytes(bytes: [u8; 16]) -> Self {
        Self::unlabelled(Builder::from_random_bytes(bytes).into_uuid())
    }

    /// Returns the bytes of the id, for backends that store ids as bytes. Anyone who reads the bytes can act as this
    /// owner, so do not log them.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.id.into_bytes()
    }

    /// Returns the id with these bytes, which [`to_bytes`](Self::to_bytes) returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::AttemptId;
    ///
    /// let owner = AttemptId::random();
    /// assert_eq!(AttemptId::from_bytes(owner.to_bytes()), owner);
    /// ```
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::unlabelled(Uuid::from_bytes(bytes))
    }

    const fn unlabelled(id: Uuid) -> Self {
        Self { id, label: None }
    }

    /// Returns the same id with the label of its manager.
    #[must_use]
    pub const fn labelled(self, label: Option<&'static str>) -> Self {
        Self { label, ..self }
    }

    /// Returns the label of the manager that makes this attempt. Returns `None` for an id that was not made by a
    /// manager, or that was read from bytes or text.
    #[must_use]
    pub const fn label(self) -> Option<&'static str> {
        self.label
    }

    /// Returns the whole id, without the label. Anyone who reads the id can act as this owner, so do not log it.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::AttemptId;
    ///
    /// let owner = AttemptId::random();
    /// assert_eq!((owner.reveal().len(), owner.to_string().len()), (36, 12));
    /// ```
    #[must_use]
    pub fn reveal(self) -> String {
        self.id.to_string()
    }

    /// Parses a holder as Redis stores it. Returns the text to show for the holder, and its label: the short hash if the
    /// id has our format, and otherwise the id itself.
    pub fn shown(holder: String) -> (String, Option<String>) {
        let (id, label) = match holder.split_once('@') {
            Some((id, label)) if super::label::is_valid(label) => (id, Some(label)),
            _ => (holder.as_str(), None),
        };
        match Self::read(id) {
            // Ids of other programs may have other formats, and are shown unchanged.
            Some(owner) if owner.reveal() == id => (owner.to_string(), label.map(str::to_owned)),
            _ => (holder, None),
        }
    }

    /// Returns 48 bits, which `Display` writes as twelve digits. These bits are as random as the bits of a new id, and
    /// do not reveal the id.
    fn short_hash(self) -> u64 {
        let (high, low) = self.id.as_u64_pair();
        mixed(high ^ mixed(low)) >> 16
    }

    /// Returns a buffer for [`written`](Self::written).
    #[must_use]
    pub const fn buffer() -> [u8; MAX_CHARS] {
        [0; MAX_CHARS]
    }

    /// Returns the id and its label as Redis stores them, such as
    /// `6f1f0bd0-2d0a-4a0c-8f3e-0d8a9a3f7c11@web-3/4711`. Does not allocate.
    pub fn written(self, buffer: &mut [u8; MAX_CHARS]) -> &str {
        self.id.hyphenated().encode_lower(buffer);
        let mut length = ID_CHARS;
        if let Some(label) = self.label {
            buffer[length] = b'@';
            buffer[length + 1..][..label.len()].copy_from_slice(label.as_bytes());
            length += 1 + label.len();
        }
        std::str::from_utf8(&buffer[..length]).unwrap_or_default()
    }

    /// Returns the same as [`reveal`](Self::reveal), without an allocation.
    pub fn written_bare(self, buffer: &mut [u8; MAX_CHARS]) -> &str {
        self.id.hyphenated().encode_lower(buffer)
    }

    /// Parses the text that [`written`](Self::written) returned, without its label.
    #[must_use]
    pub fn read_written(text: &str) -> Option<Self> {
        Self::read(text.split_once('@').map_or(text, |(id, _)| id))
    }

    /// Parses the text that [`reveal`](Self::reveal) returned.
    pub fn read(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self::unlabelled)
    }
}

/// Mixes the word so that each of its bits changes half of all bits (the last step of `SplitMix64`).
const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A map whose keys are ids. The ids are random or counted, so a cheap hash is enough. If a backend's ids are neither,
/// only the maps with these ids are slower.
pub type AttemptMap<V> = HashMap<AttemptId, V, BuildHasherDefault<IdHasher>>;

/// Hashes an id by folding its bytes into one number.
#[derive(Debug, Default)]
pub struct IdHasher(u64);

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

    /// Ignores the length, because it is the same for all ids.
    fn write_usize(&mut self, _length: usize) {}

    /// Multiplies, because a map also uses the highest bits, in which counted ids do not differ.
    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl PartialEq for AttemptId {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for AttemptId {}

impl PartialOrd for AttemptId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AttemptId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for AttemptId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttemptId({self})")
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.short_hash())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn an_attempt_id_displays_as_a_stable_short_hash_and_not_as_the_id() {
        let owner = AttemptId::from_random_bytes([7; 16]);
        assert_eq!(owner.to_string(), "aa52a6f25af4");
        assert_eq!(format!("{owner:?}"), format!("AttemptId({owner})"));
        assert_eq!(AttemptId::shown(owner.reveal()), (owner.to_string(), None));
        let theirs = owner.reveal().replace('-', "");
        for theirs in [theirs, format!("{}@a b", owner.reveal()), "me@here".into()] {
            assert_eq!(AttemptId::shown(theirs.clone()), (theirs, None));
        }
        for owner in (0..1000).map(|_| AttemptId::random()) {
            let (shown, whole) = (owner.to_string(), owner.reveal().replace('-', ""));
            assert!(
                shown.len() == 12 && !whole.contains(&shown),
                "{shown} of {whole}"
            );
        }
        let shown: HashSet<_> = (0..10_000)
            .map(|_| AttemptId::random().to_string())
            .collect();
        assert_eq!(shown.len(), 10_000);
    }

    #[test]
    fn a_label_is_written_and_read_with_its_id() {
        let owner = AttemptId::random();
        for label in ["a", "web-3/4711", "me@here", "x".repeat(64).leak()] {
            let (labelled, mut buffer) = (owner.labelled(Some(label)), AttemptId::buffer());
            let written = labelled.written(&mut buffer).to_owned();
            assert_eq!(written, format!("{}@{label}", owner.reveal()));
            assert_eq!(AttemptId::read_written(&written), Some(owner));
            let shown = AttemptId::shown(written);
            assert_eq!(shown, (owner.to_string(), Some(label.to_owned())));
            assert_eq!((labelled, labelled.reveal()), (owner, owner.reveal()));
        }
        assert_eq!(owner.written(&mut AttemptId::buffer()), owner.reveal());
    }

    #[test]
    fn ids_have_distinct_hashes_and_are_found_in_a_map() {
        let ids: Vec<_> = (0..10_000).map(|_| AttemptId::random()).collect();
        let by_id: AttemptMap<usize> = ids.iter().copied().zip(0..).collect();
        assert!(
            ids.iter()
                .enumerate()
                .all(|(n, id)| by_id.get(id) == Some(&n))
        );
        let hashes = ids.iter().map(|id| by_id.hasher().hash_one(id));
        assert_eq!(hashes.collect::<HashSet<_>>().len(), ids.len());
    }
}
