//! The sharded channels of this client, one for each hash slot with waiters, and their connections.

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

/// A connection for sharded channels. The connection is replaced when it breaks, or when a slot moves to another
/// member.
pub(super) struct ShardSubscriptions {
    target: Target,
    waiters: WaiterRegistry,
    /// The mutex is never locked across an await, because a runtime that is not driven would keep it locked.
    open: Mutex<Option<OpenSubscription>>,
    connecting: SingleFlight<Subscriber>,
}

/// If this value is dropped while its channels may have waiters, all waiters poll.
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

    /// Subscribes to a channel, unless the connection already has a subscription. A caller that is dropped or not
    /// polled does not affect others.
    pub(super) async fn listen(self: &Arc<Self>, channel: &Arc<str>) -> Result<(), BackendError> {
        self.subscriber().await?.listen(channel).await
    }

    async fn subscriber(self: &Arc<Self>) -> Result<Subscriber, BackendError> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let subscriptions = Arc::clone(self);
        // This future is boxed, because it is rarely needed.
        Box::pin(
            self.connecting
                .join(async move || subscriptions.connect().await),
        )
        .await
    }

    fn open(&self) -> Option<Subscriber> {
        self.open.lock().as_ref().and_then(OpenSubscription::alive)
    }

    /// Connects, unless another caller has done so, here or in another runtime.
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

    /// Returns the channel of a key's slot. The name contains a tag that puts the channel into the same slot.
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
