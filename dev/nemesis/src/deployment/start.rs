//! Starts the servers of each kind.

use super::contract::Deployment;
use super::kind::Kind;
use super::{
    cluster, database, in_process, one, redlock, replicated_database, sentinels, zookeeper,
};
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
        Kind::Postgres => Box::new(database::OnePostgres::start().await?),
        Kind::Asynchronous => Box::new(replicated_database::Replicated::start(false).await?),
        Kind::Synchronous => Box::new(replicated_database::Replicated::start(true).await?),
        Kind::MariaDb => Box::new(database::OneMariaDb::start().await?),
        Kind::Sqlite => Box::new(database::File::create().await?),
        Kind::ZooKeeper => Box::new(zookeeper::Ensemble::start().await?),
    })
}
