//! The sharded channels of this client, one for each hash slot in which it waits, and the connections that subscribe to them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::slot_map::{hash_slot, hash_tag};
use super::subscriber::Subscriber;
use crate::Key;
use crate::backend::BackendError;
use crate::backend::redis::connection::single_flight::SingleFlight;
use crate::backend::redis::connection::transport::Target;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;

/// A connection for sharded channels, made anew when it is lost, or when the member gives a slot away.
pub(super) struct ShardSubscriptions {
    target: Target,
    waiters: WaiterRegistry,
    /// Locked over no await: a runtime that nobody drives must not keep it.
    open: Mutex<Option<OpenSubscription>>,
    connecting: SingleFlight<Subscriber>,
}

/// Dropped with channels on which somebody may wait, it has all who wait look.
struct OpenSubscription(Subscriber);

impl OpenSubscription {
    fn alive(&self) -> Option<Subscriber> {
        (!self.0.has_ended()).then(|| self.0.clone())
    }
}

impl Drop for OpenSubscription {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ShardSubscriptions {
    pub(super) fn new(target: Target, waiters: WaiterRegistry) -> Self {
        Self {
            target,
            waiters,
            open: Mutex::default(),
            connecting: SingleFlight::default(),
        }
    }

    /// Listens to a channel, if it does not yet. Whoever gives up, or is not polled, deafens nobody.
    pub(super) async fn listen(self: &Arc<Self>, channel: &Arc<str>) -> Result<(), BackendError> {
        self.subscriber().await?.listen(channel).await
    }

    async fn subscriber(self: &Arc<Self>) -> Result<Subscriber, BackendError> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let subscriptions = Arc::clone(self);
        // Boxed, as it is seldom needed.
        Box::pin(
            self.connecting
                .join(async move || subscriptions.connect().await),
        )
        .await
    }

    fn open(&self) -> Option<Subscriber> {
        self.open.lock().as_ref().and_then(OpenSubscription::alive)
    }

    /// Connects, unless that was done meanwhile, here or in another runtime.
    async fn connect(&self) -> Result<Subscriber, BackendError> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let made = Subscriber::connect(&self.target, self.waiters.clone()).await?;
        let earlier = {
            let mut open = self.open.lock();
            if let Some(other) = open.as_ref().and_then(OpenSubscription::alive) {
                return Ok(other);
            }
            open.replace(OpenSubscription(made.clone()))
        };
        drop(earlier);
        Ok(made)
    }
}

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
        let tag = hash_tag(key.full());
        let mut by_slot = self.by_slot.lock();
        let channel = by_slot
            .entry(hash_slot(tag))
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
            assert_eq!(hash_slot(&channel), hash_slot(key.full()), "{channel}");
            assert_eq!(channel, channels.of(&key));
        }
        let (one, other) = (Key::new("", "{b}x").unwrap(), Key::new("", "b").unwrap());
        assert_eq!(channels.of(&one), channels.of(&other));
    }
}
