//! A primary with a replica and Sentinels.

use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::SentinelRedis;
use tokio::time::sleep;

use super::contract::Deployment;
use super::locks::Locks;
use super::traces;
use crate::BoxError;
use crate::fault::Fault;

/// How long the primary writes without replication before its writes are lost.
const UNREPLICATED: Duration = Duration::from_millis(300);

/// How long two servers accept writes.
const SPLIT: Duration = Duration::from_millis(700);

pub(super) struct Sentinels {
    redis: SentinelRedis,
    synced: bool,
}

impl Sentinels {
    pub(super) async fn start(synced: bool) -> Result<Self, BoxError> {
        let redis = SentinelRedis::start().await?;
        Ok(Self { redis, synced })
    }
}

#[async_trait(?Send)]
impl Deployment for Sentinels {
    fn locks(&self) -> Locks {
        let url = format!(
            "redis+sentinel://{}/{}",
            self.redis.hosts(),
            self.redis.name()
        );
        match self.synced {
            true => Locks::Synced(url),
            false => Locks::Redis(url),
        }
    }

    async fn strike(&self, fault: Fault, _chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        let servers = self.redis.servers();
        servers.hold();
        sleep(UNREPLICATED).await;
        match fault {
            Fault::Failover => {
                servers.primary().kill();
                self.redis.until_failed_over().await?;
            }
            Fault::ServerPause => {
                servers.primary().pause()?;
                self.redis.until_failed_over().await?;
                servers.replica().resume()?;
                sleep(SPLIT).await;
            }
            other => return Err(format!("Sentinels know no `{other}`").into()),
        }
        servers.rejoin().await?;
        Ok(())
    }

    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        traces::of(self.redis.servers().primary(), traces::BRIEF_IF_MISSED).await
    }
}
