//! Starts the servers of each kind.

use super::contract::Deployment;
use super::kind::Kind;
use super::{cluster, in_process, one, redlock, sentinels, zookeeper};
use crate::BoxError;

/// Starts the servers of a kind.
///
/// # Errors
///
/// Returns an error if a server does not start.
pub async fn start(kind: Kind) -> Result<Box<dyn Deployment>, BoxError> {
    Ok(match kind {
        Kind::InProcess => Box::new(in_process::InProcess),
        Kind::One => Box::new(one::One::start().await?),
        Kind::Sentinel => Box::new(sentinels::Sentinels::start(false).await?),
        Kind::Synced => Box::new(sentinels::Sentinels::start(true).await?),
        Kind::Cluster => Box::new(cluster::Cluster::start().await?),
        Kind::Redlock => Box::new(redlock::Nodes::start().await?),
        Kind::ZooKeeper => Box::new(zookeeper::Ensemble::start().await?),
    })
}
