//! Listening to one member.

use std::sync::Arc;

use parking_lot::Mutex;
use redis::Client;

use super::subscriber::Subscriber;
use crate::backend::BackendError;
use crate::backend::redis::errand::Errand;
use crate::backend::redis::inbox::Inbox;

/// A connection for sharded channels, made anew when it is lost, or when the member gives a slot away.
pub(super) struct Ears {
    client: Client,
    inbox: Inbox,
    /// Locked over no await: a runtime that nobody drives must not keep it.
    open: Mutex<Option<Open>>,
    connecting: Errand<Subscriber>,
}

/// Dropped with channels on which somebody may wait, it has all who wait look.
struct Open(Subscriber);

impl Open {
    fn alive(&self) -> Option<Subscriber> {
        (!self.0.has_ended()).then(|| self.0.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Ears {
    pub(super) fn new(client: Client, inbox: Inbox) -> Self {
        Self {
            client,
            inbox,
            open: Mutex::default(),
            connecting: Errand::default(),
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
        let ears = Arc::clone(self);
        // Boxed, as it is seldom needed.
        Box::pin(self.connecting.join(async move || ears.connect().await)).await
    }

    fn open(&self) -> Option<Subscriber> {
        self.open.lock().as_ref().and_then(Open::alive)
    }

    /// Connects, unless that was done meanwhile, here or in another runtime.
    async fn connect(&self) -> Result<Subscriber, BackendError> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let made = Subscriber::connect(&self.client, self.inbox.clone()).await?;
        let earlier = {
            let mut open = self.open.lock();
            if let Some(other) = open.as_ref().and_then(Open::alive) {
                return Ok(other);
            }
            open.replace(Open(made.clone()))
        };
        drop(earlier);
        Ok(made)
    }
}
