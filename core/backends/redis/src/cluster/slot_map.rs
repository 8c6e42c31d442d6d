//! Hash slots: the slot of a key, the node of a slot, and the nodes to query for the slots.

use std::collections::{HashMap, HashSet};
use std::error::Error;

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use leasehold_core::backend::BackendError;

/// A server's host and port.
pub(super) type NodeAddr = (String, u16);

/// The slots and their masters, as one member reported them.
#[derive(Debug, Default)]
pub(super) struct SlotMap {
    ranges: Vec<SlotRange>,
    /// The new masters of slots that have moved since that report.
    moved: HashMap<u16, NodeAddr>,
}

#[derive(Debug)]
struct SlotRange {
    first: u16,
    last: u16,
    master: NodeAddr,
}

impl SlotMap {
    /// Parses the reply to `CLUSTER SLOTS` of a server on `host`. A server that does not know its host omits the host.
    pub(super) fn read(slots: &Value, host: &str) -> Option<Self> {
        let Value::Array(ranges) = slots else {
            return None;
        };
        let ranges = ranges.iter().map(|range| SlotRange::read(range, host));
        Some(Self {
            ranges: ranges.collect::<Option<_>>()?,
            moved: HashMap::new(),
        })
    }

    pub(super) fn master(&self, slot: u16) -> Option<&NodeAddr> {
        let holds = |range: &&SlotRange| (range.first..=range.last).contains(&slot);
        let range = self.ranges.iter().find(holds);
        self.moved.get(&slot).or(range.map(|range| &range.master))
    }

    pub(super) fn moved(&mut self, slot: u16, master: NodeAddr) {
        self.moved.insert(slot, master);
    }

    /// Returns each master once.
    pub(super) fn masters(&self) -> Vec<NodeAddr> {
        let all = self.ranges.iter().map(|range| &range.master);
        let mut masters: Vec<_> = all.chain(self.moved.values()).cloned().collect();
        masters.sort();
        masters.dedup();
        masters
    }
}

impl SlotRange {
    fn read(range: &Value, host: &str) -> Option<Self> {
        let Value::Array(fields) = range else {
            return None;
        };
        let [first, last, Value::Array(master), ..] = &fields[..] else {
            return None;
        };
        let [name, port, ..] = &master[..] else {
            return None;
        };
        let name = match name {
            Value::BulkString(name) => String::from_utf8(name.clone()).ok()?,
            Value::SimpleString(name) => name.clone(),
            _ => String::new(),
        };
        let host = if name.is_empty() || name == "?" {
            host.to_owned()
        } else {
            name
        };
        Some(Self {
            first: number(first)?,
            last: number(last)?,
            master: (host, number(port)?),
        })
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

/// The number of slots.
const SLOTS: u16 = 16_384;

/// Returns the part of a key that decides its slot.
pub(super) fn hash_tag(key: &str) -> &str {
    let tagged = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    match tagged {
        Some((tag, _)) if !tag.is_empty() => tag,
        _ => key,
    }
}

pub(crate) fn hash_slot(key: &str) -> u16 {
    crc16(hash_tag(key).as_bytes()) % SLOTS
}

/// Computes the CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
        }
    }
    crc
}

/// The number of members that the client queries.
const ASKED: usize = 5;

/// Picks known masters and seeds alternately, because all masters or all seeds may be down.
pub(super) fn pick_query_nodes(
    mut masters: Vec<NodeAddr>,
    mut seeds: Vec<NodeAddr>,
) -> Vec<NodeAddr> {
    fastrand::shuffle(&mut masters);
    fastrand::shuffle(&mut seeds);
    let turns = masters.len().max(seeds.len());
    let mut seen = HashSet::new();
    (0..turns)
        .flat_map(|turn| [masters.get(turn), seeds.get(turn)])
        .flatten()
        .filter(|place| seen.insert(*place))
        .take(ASKED)
        .cloned()
        .collect()
}

/// The reply of a node that does not serve the requested slot.
pub(super) enum Redirection {
    /// The slot belongs to another node.
    Moved(u16, NodeAddr),
    /// The slot is moving, key by key. Until the move ends, neither node executes a script with several keys.
    Moving,
}

impl Redirection {
    /// Parses an error of a member on `host`.
    pub(super) fn of(error: &BackendError, host: &str) -> Option<Self> {
        let error: &RedisError = error.source()?.downcast_ref()?;
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::Moved) => {
                let (place, slot) = error.redirect_node()?;
                let (name, port) = place.rsplit_once(':')?;
                let host = if name.is_empty() { host } else { name };
                Some(Self::Moved(slot, (host.to_owned(), port.parse().ok()?)))
            }
            ErrorKind::Server(ServerErrorKind::Ask | ServerErrorKind::TryAgain) => {
                Some(Self::Moving)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::failure;

    fn range(first: i64, last: i64, name: Value, port: i64) -> Value {
        let master = Value::Array(vec![name, Value::Int(port)]);
        Value::Array(vec![Value::Int(first), Value::Int(last), master])
    }

    #[test]
    fn a_slot_map_finds_masters_and_a_moved_slot_overrides_its_range() {
        let named = Value::BulkString(b"b".to_vec());
        let slots = Value::Array(vec![range(0, 9, Value::Nil, 1), range(10, 20, named, 2)]);
        let mut slot_map = SlotMap::read(&slots, "a").unwrap();
        let (a, b) = (("a".to_owned(), 1), ("b".to_owned(), 2));
        assert_eq!(
            (slot_map.master(9), slot_map.master(10), slot_map.master(21)),
            (Some(&a), Some(&b), None)
        );
        slot_map.moved(9, b.clone());
        assert_eq!(
            (slot_map.master(8), slot_map.master(9)),
            (Some(&a), Some(&b))
        );
        assert_eq!(slot_map.masters(), [a, b]);
    }

    #[test]
    fn a_reply_without_slots_is_not_a_slot_map() {
        for unexpected_reply in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 99_999, Value::Nil, 1)]),
        ] {
            assert!(
                SlotMap::read(&unexpected_reply, "a").is_none(),
                "{unexpected_reply:?}"
            );
        }
    }

    #[test]
    fn hash_slots_match_those_of_the_server() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        // These are the results of `CLUSTER KEYSLOT`.
        for (key, slot) in [
            ("foo", 12_182),
            ("{user1000}.following", 3443),
            ("a{}b", 13_694),
            ("", 0),
        ] {
            assert_eq!(hash_slot(key), slot, "{key}");
        }
        assert_eq!(hash_slot("{foo}:x"), hash_slot("foo"));
        assert_eq!(hash_tag("a{b"), "a{b");
        assert_eq!(hash_tag("a{b}c}"), "b");
    }

    fn places(host: &str, count: u16) -> Vec<NodeAddr> {
        (0..count).map(|port| (host.to_owned(), port)).collect()
    }

    #[test]
    fn seeds_are_queried_even_if_many_masters_are_known() {
        let seeds = places("seed", 2);
        let asked = pick_query_nodes(places("master", 9), seeds.clone());
        assert_eq!(asked.len(), ASKED);
        assert!(seeds.iter().all(|seed| asked.contains(seed)), "{asked:?}");
    }

    #[test]
    fn all_masters_and_seeds_are_queried_eventually() {
        let (masters, seeds) = (places("master", 9), places("seed", 9));
        let asked: HashSet<_> = (0..1_000)
            .flat_map(|_| pick_query_nodes(masters.clone(), seeds.clone()))
            .collect();
        assert_eq!(asked.len(), 18);
    }

    #[test]
    fn no_node_is_queried_twice_and_few_nodes_are_all_queried() {
        let three = places("member", 3);
        for (masters, seeds) in [(3, 1), (0, 3), (3, 0), (3, 3)] {
            let (masters, seeds) = (places("member", masters), places("member", seeds));
            let mut asked = pick_query_nodes(masters, seeds);
            asked.sort();
            assert_eq!(asked, three);
        }
    }

    fn read(answer: &[u8]) -> Option<Redirection> {
        let error = redis::parse_redis_value(answer)
            .unwrap()
            .extract_error()
            .unwrap_err();
        Redirection::of(&failure(error), "here")
    }

    #[test]
    fn moved_and_ask_replies_are_parsed_as_redirections() {
        for (answer, host, port) in [
            (&b"-MOVED 5 there:7\r\n"[..], "there", 7),
            (b"-MOVED 5 :7\r\n", "here", 7),
            (b"-MOVED 5 ::1:7\r\n", "::1", 7),
        ] {
            let Some(Redirection::Moved(slot, place)) = read(answer) else {
                panic!("{answer:?}");
            };
            assert_eq!((slot, place), (5, (host.to_owned(), port)));
        }
        for answer in [&b"-ASK 5 there:7\r\n"[..], b"-TRYAGAIN Multiple keys\r\n"] {
            assert!(matches!(read(answer), Some(Redirection::Moving)));
        }
        assert!(read(b"-ERR other\r\n").is_none());
    }
}
