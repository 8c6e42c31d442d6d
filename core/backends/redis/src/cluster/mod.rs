//! A Redis Cluster: the master of each slot, and a connection to each master.
//!
//! # Implementation details
//!
//! This module uses the same [client](super::client::ServerClient) as a single server, not the Cluster client of the
//! redis crate. That client sends a command up to sixteen times, without a time limit, and this crate could not track
//! the duplicates. This module sends a command once, and again only after a `MOVED` reply. A server that replies
//! `MOVED` has not executed the command.
//!
//! Sharded channels use separate connections. When a slot moves, the server ends the subscriptions of that slot and
//! sends a message. The redis crate mistakes that message for the reply to the current command.

mod shard_subscriptions;
mod slot_map;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use redis::{Cmd, ConnectionAddr, ConnectionInfo, Pipeline, Value};
use scopeguard::{ScopeGuard, guard};
use tokio::sync::watch;

use crate::client::connector::Connector;
use crate::client::{SendOptions, ServerClient};
use crate::connection::push_messages;
use crate::connection::transport::Target;
use crate::connection::wait_command_connections::Acknowledged;
use crate::error::failure;
use crate::protocol::reply;
use crate::url::MultiHostUrl;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::Key;
use leasehold_core::backend::support::SingleFlight;
use leasehold_core::backend::support::runtime::{sleep, timeout};
use leasehold_core::backend::{BackendError, ConnectError};
use shard_subscriptions::{ShardSubscriptions, SlotChannels};
pub(super) use slot_map::hash_slot;
use slot_map::{NodeAddr, Redirection, SlotMap, pick_query_nodes};

/// The largest number of redirections of one command.
const REDIRECTIONS: usize = 5;

/// The time within which a member must report its slots.
const PATIENCE: Duration = Duration::from_secs(1);

/// The additional time to wait for the other members after the first reply, because the other members may be more up to
/// date.
const LATE: Duration = Duration::from_millis(100);

pub(crate) struct Cluster {
    /// The first member in the URL. Its settings apply to all members.
    template: Target,
    seeds: Vec<NodeAddr>,
    waiters: WaiterRegistry,
    /// The commands that load our scripts into a member.
    scripts: Arc<Pipeline>,
    channels: SlotChannels,
    members: Mutex<HashMap<NodeAddr, Arc<ClusterNode>>>,
    slot_map: Mutex<SlotMap>,
    /// Set when a command to a member from the slot map had no reply.
    in_doubt: AtomicBool,
    asking: SingleFlight<()>,
    /// Counts updates of the slot map.
    moves: watch::Sender<u64>,
    deaf: AtomicBool,
}

pub(crate) struct ClusterNode {
    host: String,
    pub(crate) node: ServerClient,
    subscriptions: Arc<ShardSubscriptions>,
}

impl Cluster {
    /// Returns `None` if `seeds` is empty.
    pub(super) fn new(
        seeds: &[Target],
        waiters: WaiterRegistry,
        scripts: Arc<Pipeline>,
    ) -> Option<Self> {
        Some(Self {
            template: seeds.first()?.clone(),
            seeds: seeds.iter().filter_map(place).collect(),
            channels: SlotChannels::new(&waiters.channel()),
            waiters,
            scripts,
            members: Mutex::default(),
            slot_map: Mutex::default(),
            in_doubt: AtomicBool::new(true),
            asking: SingleFlight::default(),
            moves: watch::Sender::default(),
            deaf: AtomicBool::new(false),
        })
    }

    /// Returns the channel to which the server publishes for waiters of `key`.
    pub(crate) fn channel(&self, key: &Key) -> Arc<str> {
        self.channels.of(key)
    }

    /// Returns a number for the member that stores `key`, if the slot map contains it.
    pub(crate) fn server_of(&self, key: &Key) -> u64 {
        let mut number = DefaultHasher::new();
        let slot_map = self.slot_map.lock();
        slot_map.master(hash_slot(key.full())).hash(&mut number);
        number.finish()
    }

    pub(crate) fn moves(&self) -> watch::Sender<u64> {
        self.moves.clone()
    }

    /// Executes a command on the member that stores `key`.
    pub(crate) async fn send(
        self: &Arc<Self>,
        key: &Key,
        command: &Cmd,
        how: SendOptions,
    ) -> Result<Acknowledged<Value>, BackendError> {
        let place = hash_slot(key.full());
        for _ in 0..REDIRECTIONS {
            let member = self.member_of(place).await?;
            // If the reply is missing, or the caller stops waiting for it, the slot map may be stale.
            let doubted = guard(&self.in_doubt, |it| it.store(true, Ordering::Release));
            let error = match self.send_to(&member, key, command, how).await {
                Ok(answer) => {
                    ScopeGuard::into_inner(doubted);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            match Redirection::of(&error, &member.host) {
                Some(Redirection::Moved(moved, to)) => {
                    self.slot_map.lock().moved(moved, to);
                    self.moves.send_modify(|count| *count += 1);
                }
                Some(Redirection::Moving) => {
                    let message = "the key's slot is moving to another member of the Cluster";
                    return Err(BackendError::not_applied(message).with_source(error));
                }
                None => return Err(error),
            }
            ScopeGuard::into_inner(doubted);
        }
        let message = "the members of the Cluster do not agree on which of them has the key";
        Err(BackendError::not_applied(message))
    }

    async fn send_to(
        &self,
        member: &ClusterNode,
        key: &Key,
        command: &Cmd,
        how: SendOptions,
    ) -> Result<Acknowledged<Value>, BackendError> {
        if how.listening {
            self.listen(member, &self.channel(key)).await?;
        }
        member.node.send(command, how.synced).await
    }

    /// Subscribes to a channel. If this fails, waiters poll, and the first failure emits a warning event.
    async fn listen(&self, member: &ClusterNode, channel: &Arc<str>) -> Result<(), BackendError> {
        match member.subscriptions.listen(channel).await {
            Err(error) if Redirection::of(&error, &member.host).is_some() => Err(error),
            Err(error) => {
                if !self.deaf.swap(true, Ordering::AcqRel) {
                    push_messages::warn_of_no_wake_ups(&error);
                }
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns the addresses of the members in the URL.
    pub(crate) fn address(&self) -> String {
        let seeds = self
            .seeds
            .iter()
            .map(|(host, port)| format!("{host}:{port}"));
        seeds.collect::<Vec<_>>().join(",")
    }

    /// Returns every known master.
    pub(crate) async fn masters(self: &Arc<Self>) -> Result<Vec<Arc<ClusterNode>>, BackendError> {
        self.ensure_fresh().await?;
        let masters = self.slot_map.lock().masters();
        masters.iter().map(|place| self.member(place)).collect()
    }

    pub(crate) fn close(&self) {
        for (_, member) in self.members.lock().drain() {
            member.node.close();
        }
    }

    async fn member_of(self: &Arc<Self>, slot: u16) -> Result<Arc<ClusterNode>, BackendError> {
        self.ensure_fresh().await?;
        let master = self.slot_map.lock().master(slot).cloned();
        let unserved = || BackendError::not_applied("no member of the Cluster has the key's slot");
        master
            .map_or_else(|| Err(unserved()), |place| self.member(&place))
            .inspect_err(|_| self.in_doubt.store(true, Ordering::Release))
    }

    fn member(&self, place: &NodeAddr) -> Result<Arc<ClusterNode>, BackendError> {
        if let Some(member) = self.members.lock().get(place) {
            return Ok(Arc::clone(member));
        }
        let (host, port) = place;
        let target = self.template.at(host, *port).map_err(failure)?;
        let member = Arc::new(ClusterNode {
            host: host.clone(),
            node: ServerClient::new(Connector::new(
                target.clone(),
                self.waiters.clone(),
                Arc::clone(&self.scripts),
            )),
            subscriptions: Arc::new(ShardSubscriptions::new(target, self.waiters.clone())),
        });
        // This limits the number of connections if a faulty member redirects to more and more servers.
        self.drop_members_without_slots();
        let mut members = self.members.lock();
        Ok(Arc::clone(members.entry(place.clone()).or_insert(member)))
    }

    /// Closes connections to servers without a slot. Connections to seeds stay open: the client queries seeds again,
    /// and a seed may be a master under another name.
    fn drop_members_without_slots(&self) {
        let masters = self.slot_map.lock().masters();
        let is_asked =
            |place: &NodeAddr| masters.binary_search(place).is_ok() || self.seeds.contains(place);
        self.members.lock().retain(|place, _| is_asked(place));
    }
}

fn place(target: &Target) -> Option<NodeAddr> {
    match target.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Some((host.clone(), *port))
        }
        _ => None,
    }
}

const SHAPE: &str = "redis+cluster://user:password@host:6379,host:6379";
const PORT: u16 = 6379;

impl Cluster {
    /// Returns the Cluster of the members in `url`. `prepare` adds our settings to the members' settings.
    pub(crate) fn at(
        url: &str,
        waiters: WaiterRegistry,
        scripts: Arc<Pipeline>,
        prepare: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let parts = MultiHostUrl::read(url, SHAPE)?;
        parts.finish()?;
        if !matches!(parts.path, "" | "0") {
            let refused = format!("a Cluster has no databases; it should look like {SHAPE}");
            return Err(ConnectError::url(refused));
        }
        let seeds = parts.servers(PORT, "")?.into_iter().map(prepare);
        let seeds: Vec<_> = seeds.collect::<Result<_, _>>()?;
        Self::new(&seeds, waiters, scripts).ok_or_else(|| ConnectError::url(SHAPE))
    }
}

impl Cluster {
    /// Refreshes the slot map if it may be stale.
    pub(crate) async fn ensure_fresh(self: &Arc<Self>) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let cluster = Arc::clone(self);
        // Few calls need this future, and the box keeps the futures of the other calls small.
        Box::pin(
            self.asking
                .join(async move || cluster.refresh_slots().await),
        )
        .await
    }

    async fn refresh_slots(&self) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let masters = self.slot_map.lock().masters();
        let places = pick_query_nodes(masters, self.seeds.clone());
        let mut asked: FuturesUnordered<_> = places.iter().map(|place| self.ask(place)).collect();
        let (mut best, mut failed) = (None::<SlotMapReply>, None);
        while let Some(reply) = next(&mut asked, best.is_some()).await {
            match reply {
                Ok(reply) if best.as_ref().is_none_or(|best| reply.rank > best.rank) => {
                    best = Some(reply);
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        let Some(reply) = best else {
            let unknown = BackendError::not_applied("no member of the Cluster reported the slots");
            return Err(match failed {
                Some(error) => unknown.because_of(error),
                None => unknown,
            });
        };
        *self.slot_map.lock() = reply.slot_map;
        self.moves.send_modify(|count| *count += 1);
        self.drop_members_without_slots();
        self.in_doubt.store(false, Ordering::Release);
        Ok(())
    }

    async fn ask(&self, place: &NodeAddr) -> Result<SlotMapReply, BackendError> {
        let member = self.member(place)?;
        let mut ask = redis::pipe();
        ask.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
        let unexpected_reply =
            || BackendError::not_applied("unexpected reply of a member of the Cluster");
        let asked = timeout(PATIENCE, member.node.send_all(&ask, 2, None));
        let asked = asked.ok_or_else(BackendError::outside_a_runtime)?;
        let sent = asked.await.map_err(|_elapsed| {
            let (host, port) = place;
            let message = format!("{host}:{port} did not reply within {PATIENCE:?}");
            BackendError::not_applied(message)
        })??;
        let [info, slots] = <[_; 2]>::try_from(sent.answer).map_err(|_| unexpected_reply())?;
        let info: String = reply::read(info?)?;
        let slots: Value = slots?;
        let epoch =
            reply::info_field(&info, "cluster_current_epoch").and_then(|it| it.parse().ok());
        Ok(SlotMapReply {
            rank: (
                reply::info_field(&info, "cluster_state") == Some("ok"),
                epoch.unwrap_or(0),
            ),
            slot_map: SlotMap::read(&slots, &member.host).ok_or_else(unexpected_reply)?,
        })
    }
}

/// A member's report of the slots. A member without contact to the other members reports this state, or reports
/// outdated slots.
struct SlotMapReply {
    rank: (bool, u64),
    slot_map: SlotMap,
}

async fn next<T>(asked: &mut (impl StreamExt<Item = T> + Unpin), late: bool) -> Option<T> {
    match late.then(|| sleep(LATE)).flatten() {
        None => asked.next().await,
        Some(late) => tokio::select! {
            reply = asked.next() => reply,
            () = late => None,
        },
    }
}
