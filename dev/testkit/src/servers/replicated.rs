//! A primary, and a replica that follows it through a link which can be held.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::redis::RedisServer;
use crate::proxy::{Direction, Proxy, Traffic};
use crate::resp::Value;

/// How long a replica may take to be in step: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Two servers, of which one follows the other. Each is followed through a proxy of its own.
///
/// ```no_run
/// # use leasehold_testkit::servers::{ReplicatedRedis, ServerError};
/// # async fn example() -> Result<(), ServerError> {
/// let pair = ReplicatedRedis::start().await?;
/// pair.hold(); // what is written from now on is on the primary alone
/// pair.primary().kill();
/// pair.promote().await?; // … and is lost
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct ReplicatedRedis {
    members: [Member; 2],
    primary: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    server: RedisServer,
    /// Where its follower connects.
    replication_link: Proxy,
}

impl ReplicatedRedis {
    /// Starts both, and waits until the replica has what the primary writes.
    ///
    /// # Errors
    ///
    /// As of [`RedisServer::start`], and [`ServerError::NotSo`] if the replica does not follow.
    pub async fn start() -> Result<Self, ServerError> {
        Self::started(None).await
    }

    /// As [`start`](Self::start), with a password for all: clients, the replica, and Sentinels.
    ///
    /// # Errors
    ///
    /// As of [`start`](Self::start).
    pub async fn start_with_password(password: &str) -> Result<Self, ServerError> {
        Self::started(Some(password)).await
    }

    async fn started(password: Option<&str>) -> Result<Self, ServerError> {
        let pair = Self {
            members: [
                Member::start(password).await?,
                Member::start(password).await?,
            ],
            primary: AtomicUsize::new(0),
        };
        pair.follow().await?;
        Ok(pair)
    }

    /// The one that is followed, whether it is up or not.
    pub fn primary(&self) -> &RedisServer {
        &self.members[self.primary.load(Ordering::Acquire)].server
    }

    /// The one that follows.
    pub fn replica(&self) -> &RedisServer {
        &self.members[1 - self.primary.load(Ordering::Acquire)].server
    }

    /// Nothing that the primary writes from now on reaches the replica.
    pub fn hold(&self) {
        self.replication_link()
            .set(Direction::ToClient, Traffic::Hold);
    }

    /// Lets go what was held.
    pub fn release(&self) {
        self.replication_link().pass();
    }

    /// Makes the replica a primary; whatever was held is thrown away. The other one is not told.
    ///
    /// # Errors
    ///
    /// [`ServerError::Client`] if it does not answer.
    pub async fn promote(&self) -> Result<(), ServerError> {
        let mut client = self.replica().client().await?;
        client.command(["REPLICAOF", "NO", "ONE"]).await?;
        self.swap();
        Ok(())
    }

    /// The two have changed places, without our doing.
    pub fn swap(&self) {
        self.replication_link().discard_held();
        self.primary.fetch_xor(1, Ordering::AcqRel);
    }

    /// Starts the replica anew, without its data, and has it follow.
    ///
    /// # Errors
    ///
    /// As of [`start`](Self::start).
    pub async fn rejoin(&self) -> Result<(), ServerError> {
        self.replica().restart_empty().await?;
        self.replication_link().pass();
        self.follow().await
    }

    fn replication_link(&self) -> &Proxy {
        &self.members[self.primary.load(Ordering::Acquire)].replication_link
    }

    /// A replica that is `online` is not in step yet.
    async fn follow(&self) -> Result<(), ServerError> {
        let port = self.replication_link().port().to_string();
        let mut replica = self.replica().client().await?;
        replica.command(["REPLICAOF", "127.0.0.1", &port]).await?;
        let mut primary = self.primary().client().await?;
        let begin = Instant::now();
        loop {
            primary.command(["SET", "in step", "1", "PX", "1"]).await?;
            let acknowledged = primary.command(["WAIT", "1", "100"]).await?;
            if acknowledged == Value::Int(1) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                let what = "the replica follows".to_owned();
                let waited = begin.elapsed();
                let log = self.replica().last_words();
                return Err(ServerError::NotSo { what, waited, log });
            }
            sleep(PAUSE).await;
        }
    }
}

impl Member {
    async fn start(password: Option<&str>) -> Result<Self, ServerError> {
        let mut server = RedisServer::builder()
            .arg("--repl-diskless-sync-delay")
            .arg("0");
        if let Some(password) = password {
            server = server.password(password).arg("--masterauth").arg(password);
        }
        let server = server.start().await?;
        let replication_link = Proxy::start_bytes(server.port()).await?;
        Ok(Self {
            server,
            replication_link,
        })
    }
}
