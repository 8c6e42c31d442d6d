//! The names of the nodes on the server.
//!
//! # Implementation details
//!
//! A key's container has the name of the key, with `%` and two digits for each byte that a path cannot contain. The
//! container has a node per attempt, named by mode, id, the label of the manager, and the number that the server adds,
//! as in `x-6f1f0bd0-2d0a-4a0c-8f3e-0d8a9a3f7c11@api-7@-0000000042`.

use std::fmt::Write as _;

use leasehold_core::backend::Mode;
use leasehold_core::backend::support::is_valid_label;
use leasehold_core::{AttemptId, Key};

/// The number of digits that the server adds.
const DIGITS: usize = 10;

/// Returns the name of a key's container.
pub(super) fn container(key: &Key) -> String {
    let full = key.full();
    let mut name = String::with_capacity(full.len() + 1);
    name.push('/');
    // Names with a special meaning, and the name of the server's own nodes.
    let reserved = matches!(full, "." | ".." | "zookeeper");
    for (at, byte) in full.bytes().enumerate() {
        let plain = byte.is_ascii_graphic() && !matches!(byte, b'/' | b'%');
        if plain && !(reserved && at == 0) {
            name.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _written = write!(name, "%{byte:02X}");
        }
    }
    name
}

/// Returns the path of a container's candidate node. The name does not end with a number, so the node is not in the
/// queue.
pub(super) fn candidate(container: &str) -> String {
    format!("{container}/candidate")
}

/// Returns the name of an attempt's node, without the server's number.
pub(super) fn node(mode: Mode, owner: AttemptId) -> String {
    let mode = match mode {
        Mode::Exclusive => "x".to_owned(),
        Mode::Shared => "s".to_owned(),
        Mode::Permits { count, of } => format!("p{count}.{of}"),
    };
    match owner.label() {
        // A node's name cannot contain a slash.
        Some(label) => {
            let label = label.replace('%', "%25").replace('/', "%2F");
            format!("{mode}-{}@{label}@-", owner.reveal())
        }
        None => format!("{mode}-{}-", owner.reveal()),
    }
}

/// Returns the full key of a container. Returns `None` for a node that is not a container of ours.
pub(super) fn key_of(container: &str) -> Option<String> {
    if container == "zookeeper" {
        return None;
    }
    let mut bytes = Vec::with_capacity(container.len());
    let mut rest = container;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend(plain.as_bytes());
        bytes.push(u8::from_str_radix(escaped.get(..2)?, 16).ok()?);
        rest = &escaped[2..];
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

/// A node in a container: a position in the queue for its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueueNode {
    pub(super) name: String,
    pub(super) number: i32,
    pub(super) mode: Mode,
    /// `None` if another program created the node.
    pub(super) owner: Option<AttemptId>,
    pub(super) label: Option<String>,
}

impl QueueNode {
    /// Parses a node's name. A node of another program with the server's number counts as exclusive. Ignores a node
    /// without a number.
    pub(super) fn read(name: &str) -> Option<Self> {
        let split = name.len().checked_sub(DIGITS)?;
        let (rest, digits) = (name.get(..split)?, name.get(split..)?);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // The number becomes negative when it overflows.
        let (rest, number) = match rest.strip_suffix("--") {
            Some(rest) => (rest, format!("-{digits}")),
            None => (rest.strip_suffix('-').unwrap_or(rest), digits.to_owned()),
        };
        let number = number.parse().ok()?;
        let own = rest.split_once('-').and_then(|(mode, owner)| {
            let (owner, label) = owner.split_once('@').unwrap_or((owner, ""));
            Some((read_mode(mode)?, AttemptId::read(owner)?, label))
        });
        let label = own.and_then(|(_, _, label)| label.strip_suffix('@'));
        let label = label.map(|it| it.replace("%2F", "/").replace("%25", "%"));
        Some(Self {
            name: name.to_owned(),
            number,
            mode: own.map_or(Mode::Exclusive, |(mode, ..)| mode),
            owner: own.map(|(_, owner, _)| owner),
            label: label.filter(|label| is_valid_label(label)),
        })
    }
}

fn read_mode(text: &str) -> Option<Mode> {
    match text {
        "x" => Some(Mode::Exclusive),
        "s" => Some(Mode::Shared),
        _ => {
            let (count, of) = text.strip_prefix('p')?.split_once('.')?;
            Some(Mode::Permits {
                count: count.parse().ok()?,
                of: of.parse().ok()?,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_name_is_escaped_and_identifies_its_key() {
        for (key, name) in [
            ("order:42", "/order:42"),
            ("a/b", "/a%2Fb"),
            ("a%2Fb", "/a%252Fb"),
            ("ä b", "/%C3%A4%20b"),
            ("zookeeper", "/%7Aookeeper"),
            ("..", "/%2E."),
        ] {
            assert_eq!(container(&Key::new("", key).unwrap()), name);
            assert_eq!(key_of(&name[1..]).as_deref(), Some(key));
        }
    }

    #[test]
    fn reserved_and_invalid_node_names_are_not_containers() {
        for name in ["zookeeper", "%", "%4", "%zz", "%FF"] {
            assert_eq!(key_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_label_is_read_as_it_was_written() {
        for label in ["web-3/4711", "a-", "-", "%2F", "a@b@", "%25/"] {
            let owner = AttemptId::random().labelled(Some(label));
            for number in ["0000000042", "-2147483648"] {
                let name = format!("{}{number}", node(Mode::Exclusive, owner));
                let place = QueueNode::read(&name).unwrap();
                assert_eq!(place.label.as_deref(), Some(label), "{name}");
                assert_eq!(place.owner, Some(owner), "{name}");
                assert!(!name.contains('/'), "{name}");
            }
        }
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let owner = AttemptId::random();
        for mode in [
            Mode::Exclusive,
            Mode::Shared,
            Mode::Permits { count: 2, of: 30 },
        ] {
            for (number, text) in [(42, "0000000042"), (i32::MIN, "-2147483648")] {
                let name = format!("{}{text}", node(mode, owner));
                let place = QueueNode::read(&name).unwrap();
                assert_eq!((place.mode, place.number), (mode, number), "{name}");
                assert_eq!(place.owner, Some(owner), "{name}");
            }
        }
    }

    #[test]
    fn a_foreign_node_with_a_sequence_number_counts_as_exclusive() {
        let place = QueueNode::read("_c_6f1f-lock-0000000007").unwrap();
        assert_eq!(
            (place.mode, place.number, place.owner),
            (Mode::Exclusive, 7, None)
        );
        assert_eq!(QueueNode::read("leases"), None);
        assert_eq!(QueueNode::read(""), None);
        assert_eq!(QueueNode::read("ääääääää"), None);
    }
}
