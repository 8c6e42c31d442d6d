//! Locks in one database server behind a proxy, or in a file.

use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use tempfile::TempDir;
use tokio::time::sleep;

use super::contract::{Deployment, OUTAGE};
use super::link;
use super::locks::{Locks, create_table};
use crate::BoxError;
use crate::fault::Fault;

/// How far a clock jumps. It only jumps forward, because leases from before a jump back would last longer than the test.
const JUMP: i64 = 31;

/// A Postgres server with its own clock.
pub(super) struct OnePostgres {
    server: PostgresServer,
    proxy: Proxy,
    clock: ClockShim,
    ahead: AtomicI64,
}

impl OnePostgres {
    pub(super) async fn start() -> Result<Self, BoxError> {
        let clock = ClockShim::off_by(0)?;
        let server = PostgresServer::builder().wearing(&clock).start().await?;
        create_table(&server.url()).await?;
        Ok(Self {
            proxy: Proxy::start_bytes(server.port()).await?,
            server,
            clock,
            ahead: AtomicI64::new(0),
        })
    }
}

#[async_trait(?Send)]
impl Deployment for OnePostgres {
    fn locks(&self) -> Locks {
        Locks::Database(self.server.url_at(self.proxy.port()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        if link::strike(&self.proxy, fault, chance).await? {
            return Ok(());
        }
        match fault {
            Fault::ServerRestart => self.server.restart().await?,
            Fault::ServerClock => {
                let ahead = self.ahead.fetch_add(JUMP, Ordering::Relaxed) + JUMP;
                self.clock.set(ahead)?;
            }
            other => return Err(format!("one Postgres knows no `{other}`").into()),
        }
        Ok(())
    }

    /// The rows of free locks stay for an hour.
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}

/// A `MariaDB` server.
pub(super) struct OneMariaDb {
    server: MariaDbServer,
    proxy: Proxy,
}

impl OneMariaDb {
    pub(super) async fn start() -> Result<Self, BoxError> {
        let server = MariaDbServer::start().await?;
        create_table(&server.url()).await?;
        Ok(Self {
            proxy: Proxy::start_bytes(server.port()).await?,
            server,
        })
    }
}

#[async_trait(?Send)]
impl Deployment for OneMariaDb {
    fn locks(&self) -> Locks {
        Locks::Database(self.server.url_at(self.proxy.port()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        if link::strike(&self.proxy, fault, chance).await? {
            return Ok(());
        }
        match fault {
            Fault::ServerPause => {
                self.server.pause()?;
                sleep(OUTAGE).await;
                self.server.resume()?;
            }
            Fault::ServerRestart => self.server.restart().await?,
            other => return Err(format!("one MariaDB knows no `{other}`").into()),
        }
        Ok(())
    }

    /// The rows of free locks stay for an hour.
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}

/// A file of `SQLite`.
pub(super) struct File(TempDir);

impl File {
    pub(super) async fn create() -> Result<Self, BoxError> {
        let file = Self(tempfile::tempdir()?);
        create_table(&file.url()).await?;
        Ok(file)
    }

    fn url(&self) -> String {
        format!(
            "sqlite://{}?mode=rwc",
            self.0.path().join("locks.db").display()
        )
    }
}

#[async_trait(?Send)]
impl Deployment for File {
    fn locks(&self) -> Locks {
        Locks::Database(self.url())
    }

    async fn strike(&self, fault: Fault, _chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        Err(format!("a file knows no `{fault}`").into())
    }

    /// The rows of free locks stay for an hour.
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}
