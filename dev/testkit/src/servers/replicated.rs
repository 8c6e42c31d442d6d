//! A primary and a replica, with a replication link that can be held.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::redis::RedisServer;
use crate::proxy::{Direction, Proxy, Traffic};
use crate::resp::Value;

/// The timeout until a replica is in sync, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

/// A primary and a replica. Each server has its own proxy for replication.
///
/// ```no_run
/// # use leasehold_testkit::servers::{ReplicatedRedis, ServerError};
/// # async fn example() -> Result<(), ServerError> {
/// let pair = ReplicatedRedis::start().await?;
/// pair.hold(); // later writes are only on the primary
/// pair.primary().kill();
/// pair.promote().await?; // … and are lost
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
    /// The proxy to which the replica connects.
    replication_link: Proxy,
}

impl ReplicatedRedis {
    /// Starts both servers, and waits until the replica has the data of the primary.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RedisServer::start`], and [`ServerError::NotSo`] if the replica does not connect.
    pub async fn start() -> Result<Self, ServerError> {
        Self::started(None).await
    }

    /// Like [`start`](Self::start), with one password for clients, the replica and Sentinels.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
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

    /// Returns the primary, even if it is down.
    pub fn primary(&self) -> &RedisServer {
        &self.members[self.primary.load(Ordering::Acquire)].server
    }

    /// Returns the replica.
    pub fn replica(&self) -> &RedisServer {
        &self.members[1 - self.primary.load(Ordering::Acquire)].server
    }

    /// Holds back all later writes of the primary from the replica.
    pub fn hold(&self) {
        self.replication_link()
            .set(Direction::ToClient, Traffic::Hold);
    }

    /// Delivers the held writes.
    pub fn release(&self) {
        self.replication_link().pass();
    }

    /// Makes the replica a primary, and discards held writes. The other server does not notice.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Client`] if the replica does not reply.
    pub async fn promote(&self) -> Result<(), ServerError> {
        let mut client = self.replica().client().await?;
        client.command(["REPLICAOF", "NO", "ONE"]).await?;
        self.swap();
        Ok(())
    }

    /// Exchanges the roles in this value, after a failover by Sentinels.
    pub fn swap(&self) {
        self.replication_link().discard_held();
        self.primary.fetch_xor(1, Ordering::AcqRel);
    }

    /// Restarts the replica without its data, and makes it follow the primary.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn rejoin(&self) -> Result<(), ServerError> {
        self.replica().restart_empty().await?;
        self.replication_link().pass();
        self.follow().await
    }

    fn replication_link(&self) -> &Proxy {
        &self.members[self.primary.load(Ordering::Acquire)].replication_link
    }

    /// Waits until the replica is in sync. A replica that is `online` may not be in sync yet.
    async fn follow(&self) -> Result<(), ServerError> {
        let begin = Instant::now();
        let mut asked = false;
        loop {
            match self.follows(&mut asked).await {
                Ok(true) => return Ok(()),
                // A server disconnects its clients when it changes its role.
                Ok(false) | Err(ServerError::Client(_)) => {}
                Err(error) => return Err(error),
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

    /// Makes the replica follow its primary, unless it was `asked` to before. Returns whether it has a new write.
    async fn follows(&self, asked: &mut bool) -> Result<bool, ServerError> {
        if !*asked {
            let port = self.replication_link().port().to_string();
            let mut replica = self.replica().client().await?;
            replica.command(["REPLICAOF", "127.0.0.1", &port]).await?;
            *asked = true;
        }
        let mut primary = self.primary().client().await?;
        primary.command(["SET", "in step", "1", "PX", "1"]).await?;
        let acknowledged = primary.command(["WAIT", "1", "100"]).await?;
        Ok(acknowledged == Value::Int(1))
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
