//! A Cluster of three masters with a replica each.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::ClusterRedis;
use tokio::time::sleep;

use super::contract::Deployment;
use super::locks::Locks;
use super::traces;
use crate::BoxError;
use crate::fault::Fault;

const MASTERS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Cluster(ClusterRedis);

impl Cluster {
    pub(super) async fn start() -> Result<Self, BoxError> {
        let cluster = ClusterRedis::start_with_replicas().await?;
        cluster.watch_closely().await?;
        Ok(Self(cluster))
    }

    /// Returns whether a node is a master, or a replica that is in sync.
    async fn is(&self, member: usize, role: &str) -> bool {
        let Ok(mut client) = self.0.server(member).client().await else {
            return false;
        };
        let Ok(said) = client.command(["ROLE"]).await else {
            return false;
        };
        let words: Vec<Option<&str>> = said.items().iter().map(Value::text).collect();
        let in_step = role == "master" || words.get(3) == Some(&Some("connected"));
        words.first() == Some(&Some(role)) && in_step
    }

    async fn until(&self, member: usize, role: &str) -> Result<(), BoxError> {
        let begin = Instant::now();
        while !self.is(member, role).await {
            if begin.elapsed() > PATIENCE {
                return Err(format!("member {member} of the Cluster is still no {role}").into());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Deployment for Cluster {
    fn locks(&self) -> Locks {
        Locks::Redis(format!("redis+cluster://{}", self.0.hosts()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        let pair = chance.usize(..MASTERS);
        let leads = if self.is(pair, "master").await {
            pair
        } else {
            pair + MASTERS
        };
        let follows = if leads == pair { pair + MASTERS } else { pair };
        self.until(follows, "slave").await?;
        let server = self.0.server(leads);
        match fault {
            Fault::Failover => {
                server.kill();
                self.until(follows, "master").await?;
                server.restart().await?;
            }
            Fault::ServerPause => {
                server.pause()?;
                self.until(follows, "master").await?;
                server.resume()?;
            }
            other => return Err(format!("a Cluster knows no `{other}`").into()),
        }
        self.until(leads, "slave").await
    }

    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        let mut left = Vec::new();
        for member in 0..MASTERS * 2 {
            if self.is(member, "master").await {
                left.extend(traces::of(self.0.server(member), traces::BRIEF_IF_MISSED).await?);
            }
        }
        Ok(left)
    }
}
