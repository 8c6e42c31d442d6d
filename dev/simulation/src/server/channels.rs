//! The subscriptions of connections.

use std::collections::{BTreeMap, BTreeSet};

/// The number of a connection.
pub(super) type Connection = u64;

/// The channels, and the published messages that are not sent yet.
#[derive(Debug, Default)]
pub(super) struct Channels {
    listeners: BTreeMap<String, BTreeSet<Connection>>,
    published: Vec<Message>,
}

/// A message for a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number of the subscriber's connection.
    pub to: u64,
    /// The channel.
    pub channel: String,
    /// The published text.
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

    /// Publishes a message, and returns the number of subscribers.
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
