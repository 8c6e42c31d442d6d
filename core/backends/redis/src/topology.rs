//! The topology: one server, the primary that Sentinels report, or a Cluster.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use redis::{Cmd, Pipeline, Value};
use tokio::sync::watch;

use super::client::{SendOptions, ServerClient};
use super::cluster::Cluster;
use super::protocol::reply;
use crate::connection::shared_connection::ServerNumber;
use crate::connection::wait_command_connections::{Acknowledged, ReplicaRequirement};
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::Key;
use leasehold_core::backend::support::event;
use leasehold_core::backend::{BackendError, ConnectError};

/// The number of connections that wait for replicas concurrently, for one batch of renewals.
const WAITING: usize = 8;

pub(super) enum Topology {
    One(Arc<ServerClient>),
    Cluster(Arc<Cluster>),
}

impl Topology {
    /// Returns the server that stores `key`. Returns `None` if the server is unknown, or never changes.
    pub(super) fn place(&self, key: &Key) -> Option<ServerNumber> {
        let _places_it = key;
        match self {
            Self::One(node) => node.place(),
            Self::Cluster(cluster) => Some(cluster.server_of(key)),
        }
    }

    /// Returns whether a key may move to another server.
    pub(super) fn may_move(&self) -> bool {
        match self {
            Self::One(node) => node.may_move(),
            Self::Cluster(_) => true,
        }
    }

    /// Returns a counter of key moves that do not close a connection.
    pub(super) fn moves(&self) -> watch::Sender<u64> {
        match self {
            Self::One(_) => watch::Sender::default(),
            Self::Cluster(cluster) => cluster.moves(),
        }
    }

    /// Waits until the client knows the location of each key.
    pub(super) async fn ready(&self) -> Result<(), BackendError> {
        match self {
            Self::One(node) => node.ready().await,
            Self::Cluster(cluster) => cluster.ensure_fresh().await,
        }
    }

    /// Returns the channel to which the server publishes for waiters of `key`.
    pub(super) fn channel(&self, waiters: &WaiterRegistry, key: &Key) -> Arc<str> {
        let _places_it = key;
        match self {
            Self::One(_) => waiters.channel(),
            Self::Cluster(cluster) => cluster.channel(key),
        }
    }

    /// Returns a number for the server that stores `key`.
    pub(super) fn server_of(&self, key: &Key) -> u64 {
        let _places_it = key;
        match self {
            Self::One(_) => 0,
            Self::Cluster(cluster) => cluster.server_of(key),
        }
    }

    /// Returns whether all locks are on one server.
    pub(super) fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }

    /// Returns the server that stores all locks, or `None` if several servers store them.
    pub(super) fn one(&self) -> Option<&Arc<ServerClient>> {
        match self {
            Self::One(node) => Some(node),
            Self::Cluster(_) => None,
        }
    }

    /// Executes a command about one key.
    pub(super) async fn call(&self, key: &Key, command: &Cmd) -> Result<Value, BackendError> {
        Ok(self
            .send(key, command, SendOptions::default())
            .await?
            .answer)
    }

    /// Works like [`call`](Self::call). Also returns how many replicas acknowledged the command, if `how` requires
    /// acknowledgements.
    pub(super) async fn send(
        &self,
        key: &Key,
        command: &Cmd,
        how: SendOptions,
    ) -> Result<Acknowledged<Value>, BackendError> {
        let _places_it = key;
        match self {
            Self::One(node) => node.send(command, how.synced).await,
            Self::Cluster(cluster) => cluster.send(key, command, how).await,
        }
    }

    /// Executes one command for each key, in as few round trips as possible. Returns a reply for each command, in
    /// order.
    pub(super) async fn call_each(
        &self,
        commands: Vec<(&Key, Cmd)>,
    ) -> impl Iterator<Item = Result<Value, BackendError>> {
        let sent = self.send_each(commands, None).await.into_iter();
        sent.map(|sent| sent.map(|it| it.answer))
    }

    /// Works like [`call_each`](Self::call_each). Also returns how many replicas acknowledged each command, if `synced`
    /// requires acknowledgements.
    pub(super) async fn send_each(
        &self,
        commands: Vec<(&Key, Cmd)>,
        synced: Option<ReplicaRequirement>,
    ) -> Vec<Result<Acknowledged<Value>, BackendError>> {
        match self {
            Self::One(node) => {
                let (pipeline, count) = to_pipeline(commands);
                match node.send_all(&pipeline, count, synced).await {
                    Ok(sent) => sent.each().collect(),
                    Err(error) => vec![Err(error)],
                }
            }
            Self::Cluster(_) => {
                let how = SendOptions {
                    synced,
                    ..SendOptions::default()
                };
                let sent = commands.iter().map(|(key, it)| self.send(key, it, how));
                let calls: Vec<_> = sent.collect();
                let concurrent = synced.map_or(usize::MAX, |_| WAITING);
                stream::iter(calls).buffered(concurrent).collect().await
            }
        }
    }

    /// Executes a command on one of the servers, and returns `None` after the last server.
    pub(super) async fn call_server(
        &self,
        server: usize,
        command: &Cmd,
    ) -> Result<Option<Value>, BackendError> {
        match self {
            Self::One(node) if server == 0 => node.call(command).await.map(Some),
            Self::One(_) => Ok(None),
            Self::Cluster(cluster) => match cluster.masters().await?.get(server) {
                Some(member) => member.node.call(command).await.map(Some),
                None => Ok(None),
            },
        }
    }

    /// Returns the `INFO` of each primary, with its address.
    pub(super) async fn infos(&self) -> Result<Vec<(String, String)>, ConnectError> {
        match self {
            Self::One(node) => Ok(vec![info(node).await?]),
            Self::Cluster(cluster) => {
                let masters = cluster.masters().await;
                let masters =
                    masters.map_err(|error| ConnectError::server(cluster.address(), error))?;
                let mut infos = Vec::new();
                for member in masters {
                    infos.push(info(&member.node).await?);
                }
                Ok(infos)
            }
        }
    }

    /// Checks whether the server can notify waiters.
    pub(super) async fn publish(&self, waiters: &WaiterRegistry) -> Result<(), BackendError> {
        match self {
            Self::One(node) => {
                let mut publish = redis::cmd("PUBLISH");
                publish.arg(&*waiters.channel()).arg("");
                node.call_in_time(&publish).await.map(drop)
            }
            // In a Cluster the client checks this when a slot gets a waiter.
            Self::Cluster(_) => Ok(()),
        }
    }

    /// Returns the oldest server version with which our scripts and channels work.
    pub(super) fn least_version(&self) -> (u32, u32) {
        match self {
            Self::One(_) => (6, 2),
            Self::Cluster(_) => (7, 0),
        }
    }

    pub(super) fn close(&self) {
        match self {
            Self::One(node) => node.close(),
            Self::Cluster(cluster) => cluster.close(),
        }
    }
}

async fn info(node: &ServerClient) -> Result<(String, String), ConnectError> {
    let info = node.call_in_time(&redis::cmd("INFO")).await;
    let address = node.address();
    match info.and_then(reply::read) {
        Ok(info) => Ok((address, info)),
        Err(error) => Err(ConnectError::server(address, error)),
    }
}

fn to_pipeline(commands: Vec<(&Key, Cmd)>) -> (Pipeline, usize) {
    let count = commands.len();
    let mut pipeline = Pipeline::with_capacity(count);
    for (_, command) in commands {
        pipeline.add_command(command);
    }
    (pipeline, count)
}

/// Returns an error if clients cannot use the server for locks. Emits warning events about the server's limitations.
pub(crate) fn check_server(
    address: &str,
    info: &str,
    least: (u32, u32),
) -> Result<(), ConnectError> {
    let version = reply::info_field(info, "redis_version").unwrap_or_default();
    check_version(address, version, least)?;
    if let Some(policy) = reply::info_field(info, "maxmemory_policy")
        && policy != "noeviction"
    {
        warn_of_evicting_server(policy);
    }
    Ok(())
}

fn warn_of_evicting_server(policy: &str) {
    event!(
        warn,
        "leasehold.evicting_server",
        { policy = policy },
        "the server may evict locks when its memory is full; set maxmemory-policy to noeviction"
    );
}

/// Returns an error if the server is too old.
pub(crate) fn check_version(
    address: &str,
    version: &str,
    least: (u32, u32),
) -> Result<(), ConnectError> {
    if is_recent(version, least) {
        return Ok(());
    }
    Err(ConnectError::TooOld {
        address: address.to_owned(),
        version: version.to_owned(),
        least: format!("{}.{}", least.0, least.1),
    })
}

/// Returns whether this crate supports the version. In the same field, Valkey reports the Redis version with which it
/// is compatible.
fn is_recent(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        for (version, recent) in [
            ("7.0.15", true),
            ("6.2.0", true),
            ("10.0", true),
            ("6.0.16", false),
            ("5.0.14", false),
            ("", false),
        ] {
            assert_eq!(is_recent(version, (6, 2)), recent, "{version}");
        }
    }
}
