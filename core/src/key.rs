//! Keys of locks, and the rules for them.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::escaped_text::Shown;

/// The longest name of a lock, prefix included, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;

/// Marks the companions of a lock on a server, so no user's key may contain it.
const RESERVED: &str = ":lh1:";

/// The validated name of a lock: the manager's prefix followed by the caller's key.
///
/// Every backend accepts the same names, so that code which was tested in process does not meet its
/// first refusal in production. A name is refused if it is empty, longer than [`MAX_KEY_BYTES`], has
/// a control character, contains `:lh1:`, or has a `}` that does not close the one non-empty
/// `{hash tag}` a name may have (a Redis Cluster would place such a lock and its companions on
/// different nodes), or if it is that tag and nothing else: `{a}` would have the companions of `a`.
///
/// On Redis each key that was ever locked takes memory for two days after, or for the `fence_ttl` that is set: see `Keys`
/// at `backend::redis::Redis` before clients choose keys.
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
/// Two keys are equal if their full names are.
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
    /// [`InvalidKey`] says which rule was broken, and where.
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

    /// A value as a part of a key of several: `:` becomes `%3A`, and `%` becomes `%25`. A value without either stays as
    /// it is.
    ///
    /// Two values between `:` make one key for each pair of them, and no pair has the key of another. Without this
    /// `ann:5` and `5` have the key of `ann` and `5:5`. The placeholders of `#[distributed_lock]` and the parameters of
    /// `leasehold_tower::key::path` are escaped so.
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

    /// This key, if it has that prefix.
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

    /// The key as the caller wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.full[self.prefix_bytes..]
    }

    /// The name under which the backend keeps the lock: prefix and key.
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

/// The key as the caller wrote it, but for characters that end a line, turn the direction of the text or cannot be seen:
/// these are escaped. [`Key::name`] has them as they are.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self.name()).fmt(f)
    }
}

/// A name that cannot be a lock's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name a lock: {problem}", Shown(name))]
pub struct InvalidKey {
    name: String,
    prefix_bytes: usize,
    problem: KeyProblem,
}

impl InvalidKey {
    /// The refused name, prefix included, shortened if it is long.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rule that the name breaks.
    #[must_use]
    pub fn problem(&self) -> &KeyProblem {
        &self.problem
    }

    /// The rule, with positions in the key as the caller wrote it, without the prefix: for those who do not know that. A
    /// place in the prefix is told as 0.
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

/// Why a name was refused. Positions are byte offsets in the prefixed name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// Nothing follows the prefix.
    #[error("the key is empty; name the thing that is locked, as in `order:42`")]
    Empty,
    /// Longer than [`MAX_KEY_BYTES`].
    #[error("it has {bytes} bytes, {MAX_KEY_BYTES} are allowed; hash the long part")]
    TooLong {
        /// The length of the refused name.
        bytes: usize,
    },
    /// A control character, such as a line feed.
    #[error("byte {at} starts a control character; remove or escape it")]
    ControlCharacter {
        /// Where it stands.
        at: usize,
    },
    /// The text that marks a lock's companions on a server.
    #[error("`:lh1:` at byte {at} is reserved for Leasehold's own entries; use another separator")]
    Reserved {
        /// Where it stands.
        at: usize,
    },
    /// A `}` that does not close the only, non-empty `{hash tag}`.
    #[error(
        "the `}}` at byte {at} does not close the one non-empty `{{tag}}` a name may have; remove it"
    )]
    Brace {
        /// Where it stands.
        at: usize,
    },
    /// A handover ticket names a lock under another prefix than the manager has that is to take it up.
    #[error(
        "its ticket is of a manager with another prefix; take it up with one that has the same"
    )]
    OtherPrefix,
    /// A `{hash tag}` and nothing else.
    #[error(
        "it is a `{{tag}}` alone, which would share its entries with the lock that is named like the tag; \
         give it a prefix, or something behind it"
    )]
    TagAlone,
}

fn control_character(full: &str) -> Option<usize> {
    // Most names are of these alone, which is quickly seen.
    let is_plain = full.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match is_plain {
        true => None,
        false => full.find(char::is_control),
    }
}

/// As `str::find`, which prepares itself for long texts.
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
    fn each_rule_names_the_place_it_is_broken_at() {
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
    fn the_error_shortens_a_long_name() {
        let error = Key::new("", &"ü".repeat(2000)).unwrap_err();
        assert!(error.name().chars().count() < 70);
        assert!(error.to_string().contains("hash the long part"));
    }
}
