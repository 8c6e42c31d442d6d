//! The members of a Cluster, and commands that find theirs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use redis::{Client, Cmd, ConnectionAddr, ConnectionInfo, Value};
use tokio::sync::watch;

use super::atlas::{Atlas, Place};
use super::channels::Channels;
use super::ears::Ears;
use super::redirection::Redirection;
use super::slot;
use super::whom::to_ask;
use crate::Key;
use crate::backend::BackendError;
use crate::backend::redis::answer;
use crate::backend::redis::door::Door;
use crate::backend::redis::errand::Errand;
use crate::backend::redis::failure;
use crate::backend::redis::hosts::at;
use crate::backend::redis::inbox::Inbox;
use crate::backend::redis::node::{How, Node};
use crate::backend::redis::script;
use crate::backend::redis::synced::Settled;
use crate::backend::redis::warning;
use crate::runtime::{sleep, timeout};

/// How often one command is sent on to another member.
const REDIRECTIONS: usize = 5;

/// How long a member may take to say who has which slot.
const PATIENCE: Duration = Duration::from_secs(1);

/// One has answered: how long the others are waited for, who may know better.
const LATE: Duration = Duration::from_millis(100);

pub(in crate::backend::redis) struct Cluster {
    /// The member that the URL names first, and those of the other ones.
    template: ConnectionInfo,
    seeds: Vec<Place>,
    inbox: Inbox,
    channels: Channels,
    members: Mutex<HashMap<Place, Arc<Member>>>,
    atlas: Mutex<Atlas>,
    /// Somebody has had no answer from where the atlas led.
    in_doubt: AtomicBool,
    asking: Errand<()>,
    /// How often it was learnt where slots are.
    moves: watch::Sender<u64>,
    deaf: AtomicBool,
}

pub(in crate::backend::redis) struct Member {
    host: String,
    pub(in crate::backend::redis) node: Node,
    ears: Arc<Ears>,
}

impl Cluster {
    /// None without a seed.
    pub(super) fn new(seeds: &[ConnectionInfo], inbox: Inbox) -> Option<Self> {
        Some(Self {
            template: seeds.first()?.clone(),
            seeds: seeds.iter().filter_map(place).collect(),
            channels: Channels::new(&inbox.channel()),
            inbox,
            members: Mutex::default(),
            atlas: Mutex::default(),
            in_doubt: AtomicBool::new(true),
            asking: Errand::default(),
            moves: watch::Sender::default(),
            deaf: AtomicBool::new(false),
        })
    }

    /// The channel on which waiters for `key` are told.
    pub(in crate::backend::redis) fn channel(&self, key: &Key) -> Arc<str> {
        self.channels.of(key)
    }

    /// A number for the member that has `key`, as far as known.
    pub(in crate::backend::redis) fn server_of(&self, key: &Key) -> u64 {
        let mut number = DefaultHasher::new();
        let atlas = self.atlas.lock();
        atlas.master(slot::of(key.full())).hash(&mut number);
        number.finish()
    }

    pub(in crate::backend::redis) fn moves(&self) -> watch::Sender<u64> {
        self.moves.clone()
    }

    /// Has a command about `key` carried out by the member that has it.
    pub(in crate::backend::redis) async fn send(
        self: &Arc<Self>,
        key: &Key,
        command: &Cmd,
        how: How,
    ) -> Result<Settled<Value>, BackendError> {
        let place = slot::of(key.full());
        for _ in 0..REDIRECTIONS {
            let member = self.member_of(place).await?;
            // Whoever is not answered, or stops waiting, leaves the doubt.
            let doubted = Doubt(Some(&self.in_doubt));
            let error = match self.send_to(&member, key, command, how).await {
                Ok(answer) => {
                    doubted.dispelled();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            match Redirection::of(&error, &member.host) {
                Some(Redirection::Moved(moved, to)) => {
                    self.atlas.lock().moved(moved, to);
                    self.moves.send_modify(|count| *count += 1);
                }
                Some(Redirection::Moving) => {
                    let told = "the key's slot is being moved to another member of the Cluster";
                    return Err(BackendError::not_applied(told).with_source(error));
                }
                None => return Err(error),
            }
            doubted.dispelled();
        }
        let told = "the members of the Cluster do not agree about who has the key";
        Err(BackendError::not_applied(told))
    }

    async fn send_to(
        &self,
        member: &Member,
        key: &Key,
        command: &Cmd,
        how: How,
    ) -> Result<Settled<Value>, BackendError> {
        if how.listening {
            self.listen(member, &self.channel(key)).await?;
        }
        member.node.send_as(command, how.synced).await
    }

    /// Without wake-ups waiters poll; that is said once.
    async fn listen(&self, member: &Member, channel: &Arc<str>) -> Result<(), BackendError> {
        match member.ears.listen(channel).await {
            Err(error) if Redirection::of(&error, &member.host).is_some() => Err(error),
            Err(error) => {
                if !self.deaf.swap(true, Ordering::AcqRel) {
                    warning::no_wake_ups(&error);
                }
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Where the members are that the URL names.
    pub(in crate::backend::redis) fn address(&self) -> String {
        let seeds = self
            .seeds
            .iter()
            .map(|(host, port)| format!("{host}:{port}"));
        seeds.collect::<Vec<_>>().join(",")
    }

    /// Every master, as far as known.
    pub(in crate::backend::redis) async fn masters(
        self: &Arc<Self>,
    ) -> Result<Vec<Arc<Member>>, BackendError> {
        self.look_again().await?;
        let masters = self.atlas.lock().masters();
        masters.iter().map(|place| self.member(place)).collect()
    }

    pub(in crate::backend::redis) fn close(&self) {
        for (_, member) in self.members.lock().drain() {
            member.node.close();
        }
    }

    async fn member_of(self: &Arc<Self>, slot: u16) -> Result<Arc<Member>, BackendError> {
        self.look_again().await?;
        let master = self.atlas.lock().master(slot).cloned();
        let unserved = || BackendError::not_applied("no member of the Cluster has the key's slot");
        master
            .map_or_else(|| Err(unserved()), |place| self.member(&place))
            .inspect_err(|_| self.in_doubt.store(true, Ordering::Release))
    }

    fn member(&self, place: &Place) -> Result<Arc<Member>, BackendError> {
        if let Some(member) = self.members.lock().get(place) {
            return Ok(Arc::clone(member));
        }
        let (host, port) = place;
        let client = Client::open(at(&self.template, host, *port)).map_err(failure)?;
        let member = Arc::new(Member {
            host: host.clone(),
            node: Node::new(Door::new(client.clone(), self.inbox.clone(), script::ALL)),
            ears: Arc::new(Ears::new(client, self.inbox.clone())),
        });
        let mut members = self.members.lock();
        Ok(Arc::clone(members.entry(place.clone()).or_insert(member)))
    }

    /// Asks who has which slot, if that is in doubt.
    pub(in crate::backend::redis) async fn look_again(
        self: &Arc<Self>,
    ) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let cluster = Arc::clone(self);
        // Boxed, as it is seldom needed.
        Box::pin(self.asking.join(async move || cluster.ask_around().await)).await
    }

    async fn ask_around(&self) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let masters = self.atlas.lock().masters();
        let places = to_ask(masters, self.seeds.clone());
        let mut asked: FuturesUnordered<_> = places.iter().map(|place| self.ask(place)).collect();
        let (mut best, mut failed) = (None::<Told>, None);
        while let Some(told) = next(&mut asked, best.is_some()).await {
            match told {
                Ok(told) if best.as_ref().is_none_or(|best| told.rank > best.rank) => {
                    best = Some(told);
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        let Some(told) = best else {
            let unknown =
                BackendError::not_applied("no member of the Cluster says who has which slot");
            return Err(match failed {
                Some(error) => unknown.because_of(error),
                None => unknown,
            });
        };
        let masters = told.atlas.masters();
        *self.atlas.lock() = told.atlas;
        self.moves.send_modify(|count| *count += 1);
        // Seeds are asked again and again, and may be no masters, or masters by another name.
        let is_asked = |place: &Place| masters.contains(place) || self.seeds.contains(place);
        self.members.lock().retain(|place, _| is_asked(place));
        self.in_doubt.store(false, Ordering::Release);
        Ok(())
    }

    async fn ask(&self, place: &Place) -> Result<Told, BackendError> {
        let member = self.member(place)?;
        let mut ask = redis::pipe();
        ask.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
        let strange =
            || BackendError::not_applied("a member of the Cluster answered what none says");
        let asked = timeout(PATIENCE, member.node.call_all(&ask, 2)).ok_or_else(|| {
            let told = "a Cluster can only be asked inside a tokio runtime; enter one first";
            BackendError::not_applied(told).permanent()
        })?;
        let answers = asked.await.map_err(|_elapsed| {
            let (host, port) = place;
            let told = format!("{host}:{port} did not answer within {PATIENCE:?}");
            BackendError::not_applied(told)
        })??;
        let [info, slots] = <[_; 2]>::try_from(answers).map_err(|_| strange())?;
        let info: String = answer::read(info?)?;
        let slots: Value = slots?;
        let epoch = field(&info, "cluster_current_epoch").and_then(|it| it.parse().ok());
        Ok(Told {
            rank: (
                field(&info, "cluster_state") == Some("ok"),
                epoch.unwrap_or(0),
            ),
            atlas: Atlas::read(&slots, &member.host).ok_or_else(strange)?,
        })
    }
}

/// What a member says of the slots. One that is cut off says so, or is behind.
struct Told {
    rank: (bool, u64),
    atlas: Atlas,
}

async fn next<T>(asked: &mut (impl StreamExt<Item = T> + Unpin), late: bool) -> Option<T> {
    match late.then(|| sleep(LATE)).flatten() {
        None => asked.next().await,
        Some(late) => tokio::select! {
            told = asked.next() => told,
            () = late => None,
        },
    }
}

/// Dropped with something in it, it leaves a doubt.
struct Doubt<'a>(Option<&'a AtomicBool>);

impl Doubt<'_> {
    fn dispelled(mut self) {
        self.0 = None;
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(in_doubt) = self.0 {
            in_doubt.store(true, Ordering::Release);
        }
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn place(info: &ConnectionInfo) -> Option<Place> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Some((host.clone(), *port))
        }
        _ => None,
    }
}
