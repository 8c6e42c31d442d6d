//! How a process reaches the locks.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::backend::zookeeper::ZooKeeper;
use serde::{Deserialize, Serialize};

use crate::BoxError;

/// The TTL of all locks.
pub const TTL: Duration = Duration::from_secs(1);

/// How long a session of `ZooKeeper` lasts, in the place of a TTL.
pub const SESSION: Duration = Duration::from_millis(1_500);

/// How long one of several servers may take to answer.
const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// How long a replica may take to acknowledge.
const ACKNOWLEDGED: Duration = Duration::from_millis(200);

/// What a lost answer costs.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(600);

/// How a process reaches the locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locks {
    /// In itself.
    InProcess,
    /// By a URL of Redis.
    Redis(String),
    /// By a URL of Redis; each lock is on a replica, too.
    Synced(String),
    /// At these hosts.
    Redlock(Vec<String>),
    /// By a URL of `ZooKeeper`.
    ZooKeeper(String),
}

impl Locks {
    /// Connects.
    ///
    /// # Errors
    ///
    /// What the backend says.
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
                // They keep nothing. One that forgets is out for four seconds.
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
