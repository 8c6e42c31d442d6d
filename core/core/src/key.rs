//! Keys of locks, and their validation.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::escaped_text::Shown;

/// The longest key in bytes, including the prefix.
pub const MAX_KEY_BYTES: usize = 1024;

/// Part of the auxiliary keys of a lock on a server, so keys of users may not contain it.
const RESERVED: &str = ":lh1:";

/// The validated name of a lock: the manager's prefix followed by the caller's key.
///
/// Every backend accepts the same keys, so keys that work in process also work in production. These keys are refused:
///
/// - empty keys, and keys longer than [`MAX_KEY_BYTES`]
/// - keys that contain a control character or `:lh1:`
/// - keys with a `}` that does not close the only, non-empty `{hash tag}`, because a Redis Cluster would place their
///   auxiliary keys in other slots
/// - keys that consist of a hash tag only, because `{a}` would have the same auxiliary keys as `a`
///
/// On Redis each key that was ever locked uses memory for two days after its last use, or for `fence_ttl`. See `Keys`
/// at `backend::redis::Redis` before you let clients choose keys.
///
/// # Examples
///
/// ```
/// use leasehold::Key;
///
/// let key = Key::new("lock:", "order:{42}")?;
/// assert_eq!(key.name(), "order:{42}");
/// assert_eq!(key.full(), "lock:order:{42}");
/// assert!(Key::new("lock:", "a}b").is_err());
/// # Ok::<(), leasehold::InvalidKey>(())
/// ```
#[derive(Clone)]
pub struct Key {
    full: Arc<str>,
    prefix_bytes: usize,
}

impl Key {
    /// Validates `prefix` followed by `name`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidKey`], which states the broken rule and its position.
    pub fn new(prefix: &str, name: &str) -> Result<Self, InvalidKey> {
        let full = [prefix, name].concat();
        let refuse = |problem| {
            Err(InvalidKey {
                name: abbreviated(&full),
                prefix_bytes: prefix.len(),
                problem,
            })
        };
        if name.is_empty() {
            return refuse(KeyProblem::Empty);
        }
        if full.len() > MAX_KEY_BYTES {
            return refuse(KeyProblem::TooLong { bytes: full.len() });
        }
        if let Some(at) = control_character(&full) {
            return refuse(KeyProblem::ControlCharacter { at });
        }
        if let Some(at) = reserved(&full) {
            return refuse(KeyProblem::Reserved { at });
        }
        if let Some(at) = misplaced_brace(&full) {
            return refuse(KeyProblem::Brace { at });
        }
        if full.starts_with('{') && full.ends_with('}') {
            return refuse(KeyProblem::TagAlone);
        }
        Ok(Self {
            full: full.into(),
            prefix_bytes: prefix.len(),
        })
    }

    /// Escapes a value as a part of a composite key: `:` becomes `%3A`, and `%` becomes `%25`. A value without `:` and
    /// `%` is unchanged.
    ///
    /// If escaped values are joined with `:`, each combination results in a different key. Without escaping, `ann:5`
    /// and `5` would result in the same key as `ann` and `5:5`. The placeholders of `#[distributed_lock]` and the
    /// parameters of `leasehold_tower::key::path` are escaped in this way.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::Key;
    ///
    /// let key = |tenant, id| format!("tenant:{}:{}", Key::escape(tenant), Key::escape(id));
    /// assert_eq!(key("ann", "5"), "tenant:ann:5");
    /// assert_ne!(key("ann:5", "5"), key("ann", "5:5"));
    /// ```
    #[must_use]
    pub fn escape(value: &str) -> Cow<'_, str> {
        match value.contains([':', '%']) {
            true => value.replace('%', "%25").replace(':', "%3A").into(),
            false => value.into(),
        }
    }

    /// Returns this key if its prefix is `prefix`.
    pub(crate) fn under(&self, prefix: &str) -> Result<Self, InvalidKey> {
        match self.full[..self.prefix_bytes] == *prefix {
            true => Ok(self.clone()),
            false => Err(InvalidKey {
                name: abbreviated(&self.full),
                problem: KeyProblem::OtherPrefix,
                prefix_bytes: self.prefix_bytes,
            }),
        }
    }

    /// Returns the key as the caller wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.full[self.prefix_bytes..]
    }

    /// Returns the name under which the backend stores the lock: prefix and key.
    #[must_use]
    pub fn full(&self) -> &str {
        &self.full
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.full == other.full
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.full.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&&*self.full).finish()
    }
}

/// The key as the caller wrote it. Characters that end a line, change the text direction or are invisible are escaped;
/// [`Key::name`] returns them unchanged.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self.name()).fmt(f)
    }
}

/// The key is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name a lock: {problem}", Shown(name))]
pub struct InvalidKey {
    name: String,
    prefix_bytes: usize,
    problem: KeyProblem,
}

impl InvalidKey {
    /// Returns the refused key with its prefix, shortened if it is long.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rule that the key breaks.
    #[must_use]
    pub fn problem(&self) -> &KeyProblem {
        &self.problem
    }

    /// Returns the rule that the key breaks, with positions in the key as the caller wrote it, without the prefix. Use
    /// this method in messages for readers who do not know the prefix. A position inside the prefix becomes 0.
    #[must_use]
    pub fn problem_in_key(&self) -> KeyProblem {
        let mut problem = self.problem.clone();
        if let KeyProblem::ControlCharacter { at }
        | KeyProblem::Reserved { at }
        | KeyProblem::Brace { at } = &mut problem
        {
            *at = at.saturating_sub(self.prefix_bytes);
        }
        problem
    }
}

/// The reason why a key is invalid. Positions are byte offsets in the key with its prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The key is empty after the prefix.
    #[error("the key is empty; name the thing that is locked, as in `order:42`")]
    Empty,
    /// The key is longer than [`MAX_KEY_BYTES`].
    #[error("it has {bytes} bytes, {MAX_KEY_BYTES} are allowed; hash the long part")]
    TooLong {
        /// The length of the refused key.
        bytes: usize,
    },
    /// The key contains a control character, such as a line feed.
    #[error("byte {at} starts a control character; remove or escape it")]
    ControlCharacter {
        /// The position in the key.
        at: usize,
    },
    /// The key contains `:lh1:`, which is reserved for a lock's auxiliary keys on a server.
    #[error("`:lh1:` at byte {at} is reserved for Leasehold's own entries; use another separator")]
    Reserved {
        /// The position in the key.
        at: usize,
    },
    /// The key contains a `}` that does not close the only, non-empty `{hash tag}`.
    #[error(
        "the `}}` at byte {at} does not close the one non-empty `{{tag}}` a name may have; remove it"
    )]
    Brace {
        /// The position in the key.
        at: usize,
    },
    /// The prefix in a handover ticket differs from the prefix of the accepting manager.
    #[error(
        "its ticket is from a manager with another prefix; accept it with one that has the same prefix"
    )]
    OtherPrefix,
    /// The key consists of a `{hash tag}` only.
    #[error(
        "it is a `{{tag}}` alone, which would share its entries with the lock that is named like the tag; \
         give it a prefix, or something behind it"
    )]
    TagAlone,
}

fn control_character(full: &str) -> Option<usize> {
    // Most keys consist of these characters only, and this check is faster than a search for control characters.
    let is_plain = full.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match is_plain {
        true => None,
        false => full.find(char::is_control),
    }
}

/// Returns the position of [`RESERVED`]. This is not `str::find`, because that function has a setup cost for long
/// texts.
fn reserved(full: &str) -> Option<usize> {
    let (bytes, first) = (full.as_bytes(), RESERVED.as_bytes()[0]);
    let mut places = bytes.iter().enumerate().filter(|(_, byte)| **byte == first);
    places.find_map(|(at, _)| bytes[at..].starts_with(RESERVED.as_bytes()).then_some(at))
}

fn misplaced_brace(full: &str) -> Option<usize> {
    let close = full.bytes().position(|byte| byte == b'}')?;
    match full[..close].find('{') {
        Some(open) if open + 1 < close => full[close + 1..].find('}').map(|next| close + 1 + next),
        _ => Some(close),
    }
}

fn abbreviated(name: &str) -> String {
    const SHOWN: usize = 64;
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn problem(name: &str) -> Option<KeyProblem> {
        Key::new("lock:", name).err().map(|e| e.problem)
    }

    #[test]
    fn ordinary_names_and_hash_tags_are_accepted() {
        for name in [
            "order:42",
            "{42}:order",
            "a{b}c",
            "a{b",
            "größe",
            "a b",
            "{{x}",
        ] {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn no_two_pairs_of_values_share_a_key() {
        let letters = ["", "a", ":", "%", "3", "A"];
        let text = |n: usize| [letters[n % 6], letters[n / 6 % 6], letters[n / 36]].concat();
        let all: BTreeSet<String> = (0..216).map(text).collect();
        let mut seen = BTreeSet::new();
        for (one, other) in all
            .iter()
            .flat_map(|one| all.iter().map(move |it| (one, it)))
        {
            let key = format!("{}:{}", Key::escape(one), Key::escape(other));
            assert!(seen.insert(key), "{one} and {other}");
        }
        assert_eq!(Key::escape("order-42/é{x}"), "order-42/é{x}");
    }

    #[test]
    fn an_invalid_key_error_names_the_rule_and_the_position() {
        assert_eq!(problem(""), Some(KeyProblem::Empty));
        assert_eq!(
            problem("a\nb"),
            Some(KeyProblem::ControlCharacter { at: 6 })
        );
        let refused = Key::new("lock:", "a\nb").unwrap_err();
        assert_eq!(
            refused.problem_in_key(),
            KeyProblem::ControlCharacter { at: 1 }
        );
        assert_eq!(problem("a:lh1:q"), Some(KeyProblem::Reserved { at: 6 }));
        assert_eq!(problem("a}b"), Some(KeyProblem::Brace { at: 6 }));
        assert_eq!(problem("{}x"), Some(KeyProblem::Brace { at: 6 }));
        assert_eq!(problem("{a}{b}"), Some(KeyProblem::Brace { at: 10 }));
        for name in ["{a}", "{{a}", "{a{b}"] {
            let alone = Key::new("", name).unwrap_err();
            assert_eq!(alone.problem(), &KeyProblem::TagAlone, "{name}");
            assert!(Key::new("", &format!("{name}:b")).is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_KEY_BYTES);
        assert_eq!(
            problem(&long),
            Some(KeyProblem::TooLong {
                bytes: MAX_KEY_BYTES + 5
            })
        );
    }

    #[test]
    fn an_invalid_key_error_shortens_a_long_name() {
        let error = Key::new("", &"ü".repeat(2000)).unwrap_err();
        assert!(error.name().chars().count() < 70);
        assert!(error.to_string().contains("hash the long part"));
    }
}
