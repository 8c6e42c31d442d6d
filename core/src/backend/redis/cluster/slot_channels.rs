//! The notification channels of this client: one for each hash slot in which it waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::hash_slot;
use crate::Key;

#[derive(Debug)]
pub(super) struct SlotChannels {
    stem: String,
    by_slot: Mutex<HashMap<u16, Arc<str>>>,
}

impl SlotChannels {
    pub(super) fn new(stem: &str) -> Self {
        Self {
            stem: stem.to_owned(),
            by_slot: Mutex::default(),
        }
    }

    /// The tag of the first key in a slot places the channel in it, too.
    pub(super) fn of(&self, key: &Key) -> Arc<str> {
        let tag = hash_slot::tag(key.full());
        let mut by_slot = self.by_slot.lock();
        let channel = by_slot
            .entry(hash_slot::of(tag))
            .or_insert_with(|| format!("{}:{{{tag}}}", self.stem).into());
        Arc::clone(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_in_the_slot_of_its_keys() {
        let channels = SlotChannels::new("inbox:1");
        for key in ["a", "a{b", "{b}c", "c:{d}"] {
            let key = Key::new("", key).unwrap();
            let channel = channels.of(&key);
            assert_eq!(
                hash_slot::of(&channel),
                hash_slot::of(key.full()),
                "{channel}"
            );
            assert_eq!(channel, channels.of(&key));
        }
        let (one, other) = (Key::new("", "{b}x").unwrap(), Key::new("", "b").unwrap());
        assert_eq!(channels.of(&one), channels.of(&other));
    }
}
