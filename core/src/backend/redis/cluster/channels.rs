//! The channels on which this client is told that it is a waiter's turn: one for each slot in which it waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::slot;
use crate::Key;

#[derive(Debug)]
pub(super) struct Channels {
    stem: String,
    by_slot: Mutex<HashMap<u16, Arc<str>>>,
}

impl Channels {
    pub(super) fn new(stem: &str) -> Self {
        Self {
            stem: stem.to_owned(),
            by_slot: Mutex::default(),
        }
    }

    /// The tag of the first key in a slot places the channel in it, too.
    pub(super) fn of(&self, key: &Key) -> Arc<str> {
        let tag = slot::tag(key.full());
        let mut by_slot = self.by_slot.lock();
        let channel = by_slot
            .entry(slot::of(tag))
            .or_insert_with(|| format!("{}:{{{tag}}}", self.stem).into());
        Arc::clone(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_in_the_slot_of_its_keys() {
        let channels = Channels::new("inbox:1");
        for key in ["a", "a{b", "{b}c", "c:{d}"] {
            let key = Key::new("", key).unwrap();
            let channel = channels.of(&key);
            assert_eq!(slot::of(&channel), slot::of(key.full()), "{channel}");
            assert_eq!(channel, channels.of(&key));
        }
        let (one, other) = (Key::new("", "{b}x").unwrap(), Key::new("", "b").unwrap());
        assert_eq!(channels.of(&one), channels.of(&other));
    }
}
