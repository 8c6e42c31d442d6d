//! An ensemble of three `ZooKeeper` servers.

use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{ZooKeeperEnsemble, ZooKeeperServer};
use tokio::time::sleep;

use super::contract::{Deployment, OUTAGE};
use super::link;
use super::locks::Locks;
use crate::BoxError;
use crate::fault::Fault;

/// How long a server is down.
const GONE: Duration = Duration::from_millis(500);

/// Clients connect to each server through a link.
pub(super) struct Ensemble(ZooKeeperEnsemble, Vec<Proxy>);

impl Ensemble {
    pub(super) async fn start() -> Result<Self, BoxError> {
        let servers = ZooKeeperServer::builder().start_three().await?;
        let mut links = Vec::new();
        for node in servers.nodes() {
            links.push(Proxy::start_bytes(node.port()).await?);
        }
        Ok(Self(servers, links))
    }
}

#[async_trait(?Send)]
impl Deployment for Ensemble {
    fn locks(&self) -> Locks {
        let hosts = self.1.iter();
        let hosts: Vec<_> = hosts.map(|it| format!("127.0.0.1:{}", it.port())).collect();
        Locks::ZooKeeper(format!("zookeeper://{}/locks", hosts.join(",")))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        if link::strike(&self.1[chance.usize(..self.1.len())], fault, chance).await? {
            return Ok(());
        }
        let nodes = self.0.nodes();
        let struck = match fault {
            Fault::Partition => self.0.follower().await?,
            // Usually the leader.
            _ if chance.u8(..3) == 0 => self.0.follower().await?,
            _ => self.0.leader().await?,
        };
        match fault {
            Fault::Partition => {
                self.0.cut_off(struck);
                sleep(OUTAGE).await;
                self.0.reconnect(struck);
            }
            Fault::ServerPause => {
                nodes[struck].pause()?;
                sleep(OUTAGE).await;
                nodes[struck].resume()?;
            }
            Fault::ServerRestart => {
                nodes[struck].kill();
                sleep(GONE).await;
                nodes[struck].restart().await?;
            }
            other => return Err(format!("an ensemble knows no `{other}`").into()),
        }
        self.0.leader().await?;
        Ok(())
    }

    /// A node that a lock leaves would block later acquires, so other checks find it: see
    /// [`Inspection`](leasehold::backend::Inspection).
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}
