//! Who listens to what.

use std::collections::{BTreeMap, BTreeSet};

/// The number of a connection.
pub(super) type Connection = u64;

/// The channels, and what was published and is not yet sent.
#[derive(Debug, Default)]
pub(super) struct Channels {
    listeners: BTreeMap<String, BTreeSet<Connection>>,
    published: Vec<Message>,
}

/// What a listener is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number of its connection.
    pub to: u64,
    /// Where it was published.
    pub channel: String,
    /// What was published.
    pub payload: String,
}

impl Channels {
    pub(super) fn subscribe(&mut self, connection: Connection, channel: &str) {
        let listeners = self.listeners.entry(channel.to_owned()).or_default();
        listeners.insert(connection);
    }

    pub(super) fn leave(&mut self, connection: Connection) {
        self.listeners.retain(|_, listeners| {
            listeners.remove(&connection);
            !listeners.is_empty()
        });
    }

    /// How many listen.
    pub(super) fn publish(&mut self, channel: &str, payload: &str) -> usize {
        let Some(listeners) = self.listeners.get(channel) else {
            return 0;
        };
        self.published.extend(listeners.iter().map(|to| Message {
            to: *to,
            channel: channel.to_owned(),
            payload: payload.to_owned(),
        }));
        listeners.len()
    }

    pub(super) fn take_published(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.published)
    }
}
