//! The names of the keys and channels on the server.

use leasehold_core::{AttemptId, Key};

/// The version of the layout of auxiliary keys and scripts. Two versions may use one server during a roll-out, and must
/// not read each other's auxiliary keys.
const LAYOUT: &str = "lh1";

/// The keys of one lock on the server, all in one slot of a Cluster.
#[derive(Debug)]
pub(crate) struct LockKeys(PackedStrs<5>);

impl LockKeys {
    pub(crate) fn of(key: &Key) -> Self {
        let (lock, mut stem) = (key.full(), String::new());
        write_stem(key, &mut stem);
        let stem = stem.as_str();
        Self(PackedStrs::of([
            [lock, "", ""],
            [stem, "fence", ""],
            [stem, "queue", ""],
            [stem, "leases", ""],
            [stem, "shares", ""],
        ]))
    }

    /// Returns all keys, in the order that scripts with all keys expect.
    pub(crate) fn all(&self) -> [&str; 5] {
        self.0.all()
    }
}

/// Builds the names of the auxiliary keys of one lock in one buffer.
#[derive(Debug)]
pub(crate) struct KeyBuilder {
    name: String,
    stem_bytes: usize,
}

impl KeyBuilder {
    pub(crate) fn of(key: &Key) -> Self {
        const LONGEST: usize = "{}:sealed:".len() + LAYOUT.len() + 1 + AttemptId::buffer().len();
        let mut name = String::with_capacity(key.full().len() + LONGEST);
        write_stem(key, &mut name);
        let stem_bytes = name.len();
        Self { name, stem_bytes }
    }

    pub(crate) fn fence(&mut self) -> &str {
        self.named("fence")
    }

    pub(crate) fn queue(&mut self) -> &str {
        self.named("queue")
    }

    pub(crate) fn leases(&mut self) -> &str {
        self.named("leases")
    }

    pub(crate) fn shares(&mut self) -> &str {
        self.named("shares")
    }

    /// Returns the key of a handover's secret.
    pub(crate) fn handover(&mut self) -> &str {
        self.named("handover")
    }

    /// Returns the key of a recorded outcome.
    pub(crate) fn outcome(&mut self) -> &str {
        self.named("outcome")
    }

    /// Returns the key of an attempt's tombstone, which exists while duplicate requests of the attempt may arrive.
    pub(crate) fn seal(&mut self, owner: AttemptId) -> &str {
        let mut buffer = AttemptId::buffer();
        self.name.truncate(self.stem_bytes);
        self.name.push_str("sealed:");
        self.name.push_str(owner.written_bare(&mut buffer));
        &self.name
    }

    fn named(&mut self, what: &str) -> &str {
        self.name.truncate(self.stem_bytes);
        self.name.push_str(what);
        &self.name
    }
}

/// Writes the fence key of a lock into `name`.
pub(crate) fn write_fence(key: &Key, name: &mut String) {
    write_stem(key, name);
    name.push_str("fence");
}

fn write_stem(key: &Key, name: &mut String) {
    let lock = key.full();
    let (open, close) = braces(lock);
    for part in [open, lock, close, ":", LAYOUT, ":"] {
        name.push_str(part);
    }
}

/// Returns the braces around a lock's name in its auxiliary keys. If the name contains a `{hash tag}`, that tag decides
/// the slot of the lock and of its auxiliary keys. A `Key` has at most one `}`, and its tag is not the whole key.
/// Otherwise `{a}` and `a` would have the same auxiliary keys.
fn braces(lock: &str) -> (&'static str, &'static str) {
    if lock.contains('}') {
        ("", "")
    } else {
        ("{", "}")
    }
}

/// The keys of one lock on one of several independent nodes, for one round.
#[derive(Debug)]
pub(crate) struct NodeKeys(PackedStrs<6>);

impl NodeKeys {
    pub(crate) fn of(key: &Key, round: AttemptId) -> Self {
        let (lock, mut buffer) = (key.full(), AttemptId::buffer());
        let (mut stem, round) = (String::new(), round.written_bare(&mut buffer));
        write_stem(key, &mut stem);
        let stem = stem.as_str();
        Self(PackedStrs::of([
            [lock, "", ""],
            [stem, "fence", ""],
            [stem, "line", ""],
            [stem, "places", ""],
            [stem, "turn", ""],
            [stem, "sealed:", round],
        ]))
    }

    /// Returns all keys, in the order that the scripts expect.
    pub(crate) fn all(&self) -> [&str; 6] {
        self.0.all()
    }
}

/// Several names in one string, with the end of each name.
#[derive(Debug)]
struct PackedStrs<const N: usize> {
    text: String,
    ends: [usize; N],
}

impl<const N: usize> PackedStrs<N> {
    /// Creates the names. Each name consists of three parts.
    fn of(names: [[&str; 3]; N]) -> Self {
        let text = names.as_flattened().concat();
        let mut end = 0;
        let ends = names.map(|name| {
            end += name.map(str::len).iter().sum::<usize>();
            end
        });
        Self { text, ends }
    }

    fn all(&self) -> [&str; N] {
        let mut begin = 0;
        self.ends
            .map(|end| &self.text[std::mem::replace(&mut begin, end)..end])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use leasehold_testkit::almost_valid::try_on;

    fn fence(full: &str) -> String {
        LockKeys::of(&Key::new("", full).unwrap()).all()[1].to_owned()
    }

    #[test]
    fn aux_keys_are_in_the_slot_of_their_lock() {
        assert_eq!(fence("lock:order:42"), "{lock:order:42}:lh1:fence");
        assert_eq!(fence("lock:{42}:order"), "lock:{42}:order:lh1:fence");
        // Without a `}` the whole name decides the slot, and `{a{b}` has the tag `a{b`.
        assert_eq!(fence("a{b"), "{a{b}:lh1:fence");
        for full in ["lock:order:42", "lock:{42}:order", "a{b"] {
            let mut alone = String::new();
            write_fence(&Key::new("", full).unwrap(), &mut alone);
            assert_eq!(alone, fence(full));
        }
    }

    /// Returns all short keys that consist of the significant characters.
    fn short_keys() -> Vec<Key> {
        let (mut names, mut keys) = (vec![String::new()], Vec::new());
        for _ in 0..5 {
            let longer = names.iter();
            let longer =
                longer.flat_map(|name| ["a", "{", "}", ":"].map(|it| format!("{name}{it}")));
            names = longer.collect();
            keys.extend(names.iter().filter_map(|name| Key::new("", name).ok()));
        }
        keys
    }

    #[test]
    fn different_locks_never_share_a_key_on_the_server() {
        let (keys, owner) = (short_keys(), AttemptId::random());
        assert!(keys.len() > 300, "{}", keys.len());
        let mut whose = BTreeMap::new();
        for key in &keys {
            let (names, at_node) = (LockKeys::of(key), NodeKeys::of(key, owner));
            for name in names.all().into_iter().chain(at_node.all()) {
                let before = whose.insert(name.to_owned(), key);
                assert!(
                    before.is_none_or(|it| it == key),
                    "{name}: {before:?} and {key:?}"
                );
            }
        }
    }

    #[test]
    fn almost_valid_keys_are_refused_or_have_aux_keys_in_their_slot() {
        let names = ["order:42", "{42}:order", "order:{42}", "a{b", "lock:ü", "x"];
        try_on(&names, |name| {
            for prefix in ["", "lock:", "{shop}:"] {
                let Ok(key) = Key::new(prefix, name) else {
                    continue;
                };
                assert_eq!(key.full(), [prefix, name].concat());
                let owner = AttemptId::random();
                let (names, at_node) = (LockKeys::of(&key), NodeKeys::of(&key, owner));
                let mut all: Vec<String> = names.all().map(ToOwned::to_owned).into();
                all.extend(at_node.all().map(ToOwned::to_owned));
                all.push(KeyBuilder::of(&key).seal(owner).to_owned());
                for aux_key in &all {
                    use crate::cluster::hash_slot;
                    assert_eq!(hash_slot(aux_key), hash_slot(key.full()), "{aux_key}");
                }
                all.sort();
                all.dedup();
                // Both deployments use the same names for the lock, its counter and the tombstone.
                assert_eq!(all.len(), 9, "{all:?}");
            }
        });
    }

    #[test]
    fn each_auxiliary_key_has_its_expected_name() {
        let (key, owner) = (Key::new("lock:", "k").unwrap(), AttemptId::random());
        let names = LockKeys::of(&key);
        let companion = |what: &str| format!("{{lock:k}}:lh1:{what}");
        let [fence, queue, leases, shares] = ["fence", "queue", "leases", "shares"].map(companion);
        let all = ["lock:k", &fence, &queue, &leases, &shares];
        assert_eq!(names.all(), all);
        let seal = companion(&format!("sealed:{}", owner.reveal()));
        let mut companions = KeyBuilder::of(&key);
        let capacity = companions.name.capacity();
        assert_eq!(companions.seal(owner), seal);
        assert_eq!(companions.fence(), fence);
        assert_eq!(companions.queue(), queue);
        assert_eq!(companions.leases(), leases);
        assert_eq!(companions.shares(), shares);
        assert_eq!(companions.handover(), companion("handover"));
        assert_eq!(companions.seal(owner), seal);
        assert_eq!(companions.name.capacity(), capacity, "it is grown into");
    }
}
