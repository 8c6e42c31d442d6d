//! The sharded channels of this client, one for each hash slot with waiters, and their connections.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::{AsyncPushSender, MultiplexedConnection, SendError};
use redis::{AsyncConnectionConfig, Cmd, PushInfo, PushKind, Value};

use super::slot_map::{hash_slot, hash_tag};
use crate::connection::transport::{LARGEST_REPLY, OpenConnection, Target};
use crate::error::failure;
use crate::time_limits::CONNECT_TIMEOUT;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::Key;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::SingleFlight;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::support::runtime::{Runtime, timeout};

/// The time without input after which the client probes a connection with waiters.
const QUIET: Duration = Duration::from_secs(2);

/// The time without a reply after which a connection counts as broken.
const SILENCE: Duration = Duration::from_secs(2);

/// A connection for sharded channels. The client replaces the connection when it breaks, or when a slot moves to
/// another member.
pub(super) struct ShardSubscriptions {
    target: Target,
    waiters: WaiterRegistry,
    /// No task keeps this mutex locked across an await, because a runtime that is not driven would never unlock it.
    open: Mutex<Option<OpenSubscription>>,
    connecting: SingleFlight<Subscriber>,
}

/// Dropping this value while its channels may have waiters makes all waiters poll.
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
        // Few calls need this future, and the box keeps the futures of the other calls small.
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

/// A subscriber connection to one node.
#[derive(Clone)]
struct Subscriber {
    connection: MultiplexedConnection,
    _opened: Arc<OpenConnection>,
    state: Arc<SubscriberState>,
}

struct SubscriberState {
    waiters: WaiterRegistry,
    /// The channels to which the connection has a subscription.
    channels: Mutex<HashSet<Arc<str>>>,
    asking: Mutex<HashMap<Arc<str>, Arc<SingleFlight<()>>>>,
    /// The time of the connection's last probe.
    looked: Mutex<LeaseInstant>,
    ended: AtomicBool,
}

impl Subscriber {
    async fn connect(target: &Target, waiters: WaiterRegistry) -> Result<Self, BackendError> {
        let state = Arc::new(SubscriberState {
            waiters,
            channels: Mutex::default(),
            asking: Mutex::default(),
            looked: Mutex::new(LeaseInstant::now()),
            ended: AtomicBool::new(false),
        });
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_push_sender(Pushes(Arc::clone(&state)));
        let opened = OpenConnection::by(target, config, CONNECT_TIMEOUT, LARGEST_REPLY);
        let opened = opened.await.map_err(failure)?;
        Ok(Self {
            connection: opened.connection.clone(),
            _opened: Arc::new(opened),
            state,
        })
    }

    /// Subscribes to a channel, unless the connection already has a subscription.
    async fn listen(&self, channel: &Arc<str>) -> Result<(), BackendError> {
        self.look();
        if self.state.hears(channel) {
            return Ok(());
        }
        let flight = self.state.flight(channel);
        let (subscriber, channel) = (self.clone(), Arc::clone(channel));
        // Few calls need this future, and the box keeps the futures of the other calls small.
        Box::pin(flight.join(move || subscriber.subscribe(channel))).await
    }

    fn has_ended(&self) -> bool {
        self.state.has_ended()
    }

    /// Ends the subscriber, which then receives no more messages.
    fn end(&self) {
        self.state.end();
    }

    /// Probes the connection periodically. The client rarely writes to this connection, so the client would not notice
    /// lost packets without a probe.
    fn look(&self) {
        if !self.state.is_due() {
            return;
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let mut subscriber = self.clone();
        runtime.spawn(async move {
            let _ends_it = subscriber.ask(&redis::cmd("PING")).await;
        });
    }

    async fn subscribe(mut self, channel: Arc<str>) -> Result<(), BackendError> {
        let mut subscribe = redis::cmd("SSUBSCRIBE");
        subscribe.arg(&*channel);
        self.ask(&subscribe).await?;
        self.state.confirm(channel);
        Ok(())
    }

    /// Sends a command, and closes the connection if the server does not reply.
    async fn ask(&mut self, question: &Cmd) -> Result<Value, BackendError> {
        let asked = self.connection.send_packed_command(question);
        let Ok(answer) = timeout(SILENCE, asked)
            .ok_or_else(BackendError::outside_a_runtime)?
            .await
        else {
            self.state.end();
            let silent = format!("the server did not reply within {SILENCE:?}");
            return Err(BackendError::not_applied(silent));
        };
        answer.and_then(Value::extract_error).map_err(failure)
    }
}

impl SubscriberState {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn hears(&self, channel: &Arc<str>) -> bool {
        !self.has_ended() && self.channels.lock().contains(channel)
    }

    /// Returns the subscription in progress for a channel, shared by all concurrent callers.
    fn flight(&self, channel: &Arc<str>) -> Arc<SingleFlight<()>> {
        let mut asking = self.asking.lock();
        let flight = asking.entry(Arc::clone(channel)).or_default();
        Arc::clone(flight)
    }

    fn confirm(&self, channel: Arc<str>) {
        self.channels.lock().insert(channel);
        // If the connection ended before this insertion, `end` found no channel and notified no waiters.
        if self.has_ended() {
            self.waiters.interruption();
        }
    }

    fn end(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) && !self.channels.lock().is_empty() {
            self.waiters.interruption();
        }
    }

    fn is_due(&self) -> bool {
        let (mut looked, now) = (self.looked.lock(), LeaseInstant::now());
        let is_due = now.since(*looked) >= QUIET;
        if is_due {
            *looked = now;
        }
        is_due
    }
}

/// Receives the connection's push messages. A connection that is dropped with its runtime sends no last message. Only
/// the connection owns this value, so dropping the connection ends the subscriber.
struct Pushes(Arc<SubscriberState>);

impl AsyncPushSender for Pushes {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if matches!(push.kind, PushKind::SUnsubscribe | PushKind::Disconnection) {
            self.0.end();
            return Ok(());
        }
        self.0.waiters.send(push)
    }
}

impl Drop for Pushes {
    fn drop(&mut self) {
        self.0.end();
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
