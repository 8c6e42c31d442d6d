//! Locks in a Postgres primary with a streaming replica. Clients connect through a proxy, which follows a failover.

use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::ReplicatedPostgres;
use tokio::time::sleep;

use super::contract::Deployment;
use super::locks::{Locks, create_table};
use crate::BoxError;
use crate::fault::Fault;

/// How long the primary writes without replication before its writes are lost. This is longer than a lease, so that the
/// leases in the replica have ended at the failover.
const UNREPLICATED: Duration = Duration::from_millis(1_200);

pub(super) struct Replicated {
    servers: ReplicatedPostgres,
    proxy: Proxy,
}

impl Replicated {
    pub(super) async fn start(synchronous: bool) -> Result<Self, BoxError> {
        let servers = match synchronous {
            true => ReplicatedPostgres::start_synchronous().await?,
            false => ReplicatedPostgres::start_asynchronous().await?,
        };
        create_table(&servers.primary().url()).await?;
        Ok(Self {
            proxy: Proxy::start_bytes(servers.primary().port()).await?,
            servers,
        })
    }
}

#[async_trait(?Send)]
impl Deployment for Replicated {
    fn locks(&self) -> Locks {
        Locks::Database(self.servers.primary().url_at(self.proxy.port()))
    }

    async fn strike(&self, fault: Fault, _chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        if fault != Fault::Failover {
            return Err(format!("a Postgres with a replica knows no `{fault}`").into());
        }
        self.servers.hold();
        sleep(UNREPLICATED).await;
        self.servers.primary().kill();
        self.servers.promote().await?;
        self.proxy.redirect(self.servers.primary().port());
        self.servers.rejoin().await?;
        Ok(())
    }

    /// The rows of free locks stay for an hour.
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}
