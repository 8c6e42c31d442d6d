//! An ensemble of three `ZooKeeper` servers.

use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::{ZooKeeperEnsemble, ZooKeeperServer};
use tokio::time::sleep;

use super::contract::{Deployment, OUTAGE};
use super::locks::Locks;
use crate::BoxError;
use crate::fault::Fault;

/// How long a server is gone.
const GONE: Duration = Duration::from_millis(500);

pub(super) struct Ensemble(ZooKeeperEnsemble);

impl Ensemble {
    pub(super) async fn start() -> Result<Self, BoxError> {
        Ok(Self(ZooKeeperServer::builder().start_three().await?))
    }
}

#[async_trait(?Send)]
impl Deployment for Ensemble {
    fn locks(&self) -> Locks {
        Locks::ZooKeeper(format!("zookeeper://{}/locks", self.0.addresses()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        let nodes = self.0.nodes();
        let struck = match fault {
            Fault::Partition => self.0.follower().await?,
            // The leader, most of the time.
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

    /// Whatever a lock leaves is in the way of those who come later: see [`Inspection`](leasehold::backend::Inspection).
    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}
