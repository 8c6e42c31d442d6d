//! How a process reaches the locks.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::backend::zookeeper::ZooKeeper;

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

/// How a process reaches the locks, as one word.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let builder = match self {
            Self::InProcess => return Ok(LockManager::in_process()),
            Self::Redis(url) => LockManager::builder(Redis::connect(url).await?),
            Self::Synced(url) => {
                let synced = Redis::builder().synced(1, ACKNOWLEDGED);
                LockManager::builder(synced.connect(url).await?)
            }
            Self::Redlock(hosts) => {
                let urls = hosts.iter().map(|host| format!("redis://{host}"));
                // They keep nothing. One that forgets is out for four seconds.
                let nodes = Redlock::new(urls)
                    .node_timeout(NODE_TIMEOUT)
                    .max_ttl(TTL * 2)
                    .clock_difference(Duration::from_secs(1));
                LockManager::builder(nodes.connect().await?)
            }
            Self::ZooKeeper(url) => {
                let zookeeper = ZooKeeper::builder().session_timeout(SESSION);
                LockManager::builder(zookeeper.connect(url).await?)
            }
        };
        Ok(builder.ttl(TTL).command_timeout(COMMAND_TIMEOUT).build()?)
    }
}

impl fmt::Display for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProcess => f.write_str("in-process"),
            Self::Redis(url) | Self::ZooKeeper(url) => f.write_str(url),
            Self::Synced(url) => write!(f, "synced+{url}"),
            Self::Redlock(hosts) => write!(f, "redlock://{}", hosts.join(",")),
        }
    }
}

impl FromStr for Locks {
    type Err = BoxError;

    fn from_str(word: &str) -> Result<Self, BoxError> {
        if let Some(url) = word.strip_prefix("synced+") {
            return Ok(Self::Synced(url.to_owned()));
        }
        if let Some(hosts) = word.strip_prefix("redlock://") {
            let hosts = hosts.split(',').map(ToOwned::to_owned);
            return Ok(Self::Redlock(hosts.collect()));
        }
        Ok(match word {
            "in-process" => Self::InProcess,
            url if url.starts_with("zookeeper") => Self::ZooKeeper(url.to_owned()),
            url if url.starts_with("redis") => Self::Redis(url.to_owned()),
            other => return Err(format!("`{other}` does not say where locks are").into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_as_it_is_written() {
        let url = "redis+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster".to_owned();
        for locks in [
            Locks::InProcess,
            Locks::Redis(url.clone()),
            Locks::Synced(url),
            Locks::Redlock(vec!["a:1".to_owned(), "b:2".to_owned()]),
            Locks::ZooKeeper("zookeeper://a:1/locks".to_owned()),
        ] {
            assert_eq!(locks.to_string().parse::<Locks>().unwrap(), locks);
        }
        assert!("ftp://a".parse::<Locks>().is_err());
    }
}
