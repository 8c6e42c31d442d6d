//! Which node serves which hash slot.

use std::collections::HashMap;

use redis::Value;

/// A server's host and port.
pub(super) type NodeAddr = (String, u16);

/// The slots and their masters, as a member knew them.
#[derive(Debug, Default)]
pub(super) struct SlotMap {
    ranges: Vec<SlotRange>,
    /// Slots that have moved since.
    moved: HashMap<u16, NodeAddr>,
}

#[derive(Debug)]
struct SlotRange {
    first: u16,
    last: u16,
    master: NodeAddr,
}

impl SlotMap {
    /// What `CLUSTER SLOTS` answers, from a server on `host`: one that does not know its own name leaves it out.
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

    /// Each master, once.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: i64, last: i64, name: Value, port: i64) -> Value {
        let master = Value::Array(vec![name, Value::Int(port)]);
        Value::Array(vec![Value::Int(first), Value::Int(last), master])
    }

    #[test]
    fn slots_have_masters_and_moves_come_first() {
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
    fn what_is_no_answer_is_no_atlas() {
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
}
