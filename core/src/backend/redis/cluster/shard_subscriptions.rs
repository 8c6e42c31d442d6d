//! The subscriptions to the nodes of a Cluster.

use std::sync::Arc;

use parking_lot::Mutex;

use super::subscriber::Subscriber;
use crate::backend::BackendError;
use crate::backend::redis::connection::single_flight::SingleFlight;
use crate::backend::redis::connection::target::Target;
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
