//! The contestants of the benchmark.

mod any_contestant;
mod async_redis_lock;
mod bare;
pub(crate) mod databases;
pub(crate) mod distkit;
mod distributed_lock_redis;
mod drawing;
pub(crate) mod leasehold;
mod notifications;
mod once;
mod passing;
mod ping;
mod quorum;
mod redlock;
mod rslock;
pub(crate) mod scripts;
mod sql;
mod way;
mod zookeeper_recipe;

use std::future::Future;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion};

pub(crate) use self::any_contestant::{AnyContestant, on_nodes, ours_on_nodes};
use self::notifications::Notifications;
pub(crate) use self::once::Once;
pub(crate) use self::way::Way;
use crate::BoxError;

/// A contestant. Clones share its connections.
pub(crate) trait Contestant: Clone + Send + Sync + 'static {
    /// The value that is held between acquire and release.
    type Held: Send + 'static;

    /// Waits for the lock in the contestant's own way.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Self::Held, BoxError>> + Send;

    fn release(&self, held: Self::Held) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Returns this contestant as another process has it, with the same server. Only a contestant that notifies or queues
    /// within a process differs there.
    fn elsewhere(&self) -> Self {
        self.clone()
    }

    /// Returns whether the contestant can wait for a held lock. One that cannot wait is only measured with a single
    /// task.
    fn can_wait(&self) -> bool {
        true
    }
}

/// A measurement of a contestant.
pub(crate) trait Visitor {
    type Output;

    fn visit<C: Contestant>(&self, contestant: &C) -> impl Future<Output = Self::Output> + Send;
}

/// The addresses of the Redis server and the `ZooKeeper` server.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) redis: String,
    pub(crate) zookeeper: String,
}

impl Field {
    pub(crate) async fn enter(&self, ways: &[Way]) -> Result<Vec<AnyContestant>, BoxError> {
        let mut entrants = Vec::new();
        for way in ways {
            entrants.push(way.enter(self).await?);
        }
        Ok(entrants)
    }
}

/// Opens a connection with sensible options of the `redis` crate.
async fn connection(
    url: &str,
    notifications: &Notifications,
) -> Result<MultiplexedConnection, BoxError> {
    let info = url.into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    let client = Client::open(info.set_tcp_settings(tcp).set_redis_settings(settings))?;
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_push_sender(notifications.clone());
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}
