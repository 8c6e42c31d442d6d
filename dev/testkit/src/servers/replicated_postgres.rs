//! A Postgres primary with a streaming replica, and a replication link that can be held.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::postgres::{PostgresBuilder, PostgresServer};
use crate::proxy::{Direction, Proxy, Traffic};

/// The timeout until a replica streams, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Fails with a division by zero if no replica streams.
const STREAMS: &str = "SELECT 1 / COUNT(*) FROM pg_stat_replication WHERE state = 'streaming'";

/// A Postgres primary and a streaming replica. Each server has its own proxy for replication.
///
/// ```no_run
/// # use leasehold_testkit::servers::{ReplicatedPostgres, ServerError};
/// # async fn example() -> Result<(), ServerError> {
/// let pair = ReplicatedPostgres::start_asynchronous().await?;
/// pair.hold(); // later commits are only on the primary
/// pair.primary().kill();
/// pair.promote().await?; // … and are lost
/// pair.rejoin().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct ReplicatedPostgres {
    members: [Member; 2],
    primary: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    server: PostgresServer,
    /// The proxy to which the replica connects.
    replication_link: Proxy,
}

impl ReplicatedPostgres {
    /// Starts two servers. A commit does not wait for the replica.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`PostgresServer::start`], and [`ServerError::NotSo`] if the replica does not connect.
    pub async fn start_asynchronous() -> Result<Self, ServerError> {
        Self::start(PostgresServer::builder()).await
    }

    /// Starts two servers. A commit returns after the replica has written it. Without a replica, a commit waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start_asynchronous`](Self::start_asynchronous).
    pub async fn start_synchronous() -> Result<Self, ServerError> {
        let synchronous = PostgresServer::builder()
            .setting("synchronous_commit=on")
            .setting("synchronous_standby_names=*");
        Self::start(synchronous).await
    }

    async fn start(settings: PostgresBuilder) -> Result<Self, ServerError> {
        let mut members = [
            Member::prepare(settings.clone()).await?,
            Member::prepare(settings).await?,
        ];
        let ports = members.each_ref().map(|it| it.replication_link.port());
        for (member, port) in members.iter_mut().zip(ports.into_iter().rev()) {
            // A primary ignores the setting.
            member.server.add_setting(format!(
                "primary_conninfo=host=127.0.0.1 port={port} user=postgres"
            ));
        }
        let pair = Self {
            members,
            primary: AtomicUsize::new(0),
        };
        pair.primary().create().await?;
        pair.primary().launch().await?;
        pair.follow().await?;
        Ok(pair)
    }

    /// Returns the primary, even if it is down.
    pub fn primary(&self) -> &PostgresServer {
        &self.members[self.primary.load(Ordering::Acquire)].server
    }

    /// Returns the replica.
    pub fn replica(&self) -> &PostgresServer {
        &self.members[1 - self.primary.load(Ordering::Acquire)].server
    }

    /// Holds back all later commits of the primary from the replica.
    pub fn hold(&self) {
        self.replication_link()
            .set(Direction::ToClient, Traffic::Hold);
    }

    /// Makes the replica a primary, and discards held commits. The other server does not notice.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Setup`] if the replica cannot be promoted.
    pub async fn promote(&self) -> Result<(), ServerError> {
        self.replication_link().discard_held();
        self.replica().promote().await?;
        self.primary.fetch_xor(1, Ordering::AcqRel);
        Ok(())
    }

    /// Kills the former primary, deletes its data, and restarts it as a replica of the primary.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start_asynchronous`](Self::start_asynchronous).
    pub async fn rejoin(&self) -> Result<(), ServerError> {
        self.replica().kill();
        self.replication_link().pass();
        self.follow().await
    }

    fn replication_link(&self) -> &Proxy {
        &self.members[self.primary.load(Ordering::Acquire)].replication_link
    }

    /// Starts the replica with a copy of the primary's data, and waits until it streams.
    async fn follow(&self) -> Result<(), ServerError> {
        self.replica().copy(self.primary()).await?;
        self.replica().launch().await?;
        let begin = Instant::now();
        while let Err(error) = self.primary().query(STREAMS).await {
            if begin.elapsed() > PATIENCE {
                return Err(error);
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }
}

impl Member {
    async fn prepare(settings: PostgresBuilder) -> Result<Self, ServerError> {
        let server = settings.prepare()?;
        Ok(Self {
            replication_link: Proxy::start_bytes(server.port()).await?,
            server,
        })
    }
}
