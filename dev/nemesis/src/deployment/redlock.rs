//! Three Redis servers, a majority of which grants locks.

use async_trait::async_trait;
use std::time::Duration;
use tokio::time::sleep;

use super::contract::Deployment;
use super::locks::Locks;
use super::one::One;
use crate::BoxError;
use crate::fault::Fault;

/// How long a node without data does not vote: the longest TTL, the maximum difference of clocks, and a second.
const AWAY: Duration = Duration::from_millis(4_500);

pub(super) struct Nodes([One; 3]);

impl Nodes {
    pub(super) async fn start() -> Result<Self, BoxError> {
        let nodes = Self([
            One::of_several().await?,
            One::of_several().await?,
            One::of_several().await?,
        ]);
        // New nodes do not vote.
        sleep(AWAY).await;
        Ok(nodes)
    }
}

#[async_trait(?Send)]
impl Deployment for Nodes {
    fn locks(&self) -> Locks {
        Locks::Redlock(self.0.iter().map(One::host).collect())
    }

    /// Causes a fault on one of the nodes. Clocks jump only on the first one.
    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        let place = match fault {
            Fault::ServerClock => 0,
            _ => chance.usize(..self.0.len()),
        };
        self.0[place].strike(fault, chance).await?;
        if fault == Fault::ServerForgets {
            sleep(AWAY).await;
        }
        Ok(())
    }

    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        let mut left = Vec::new();
        for node in &self.0 {
            left.extend(node.traces().await?);
        }
        Ok(left)
    }
}
