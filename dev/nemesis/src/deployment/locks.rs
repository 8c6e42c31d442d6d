//! How a process connects to the locks.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::backend::zookeeper::ZooKeeper;
use serde::{Deserialize, Serialize};

use crate::BoxError;

/// The TTL of all locks.
pub const TTL: Duration = Duration::from_secs(1);

/// The duration of a session of `ZooKeeper`, which takes the place of the TTL.
pub const SESSION: Duration = Duration::from_millis(1_500);

/// The timeout of one of several servers.
const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// The timeout for the acknowledgement of a replica.
const ACKNOWLEDGED: Duration = Duration::from_millis(200);

/// The time until a lost reply is noticed.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(600);

/// How a process connects to the locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locks {
    /// Within the process.
    InProcess,
    /// At a URL of Redis.
    Redis(String),
    /// At a URL of Redis, with locks that a replica must acknowledge.
    Synced(String),
    /// On the nodes at these addresses.
    Redlock(Vec<String>),
    /// At a URL of `ZooKeeper`.
    ZooKeeper(String),
}

impl Locks {
    /// Connects to the locks.
    ///
    /// # Errors
    ///
    /// Returns the error of the backend.
    pub async fn connect(&self) -> Result<LockManager, BoxError> {
        let builder = LockManager::builder()
            .ttl(TTL)
            .command_timeout(COMMAND_TIMEOUT);
        Ok(match self {
            Self::InProcess => LockManager::in_process(),
            Self::Redis(url) => builder.connect(url).await?,
            Self::Synced(url) => {
                let synced = Redis::builder().synced(1, ACKNOWLEDGED);
                builder.build(synced.connect(url).await?)?
            }
            Self::Redlock(hosts) => {
                let urls = hosts.iter().map(|host| format!("redis://{host}"));
                // The nodes do not persist data. A node that has lost its data does not vote for four seconds.
                let nodes = Redlock::new(urls)
                    .node_timeout(NODE_TIMEOUT)
                    .max_ttl(TTL * 2)
                    .clock_difference(Duration::from_secs(1));
                builder.build(nodes.connect().await?)?
            }
            Self::ZooKeeper(url) => {
                let zookeeper = ZooKeeper::builder().session_timeout(SESSION);
                builder.build(zookeeper.connect(url).await?)?
            }
        })
    }
}
