//! Who runs.

mod bare;
mod leasehold;
mod scripts;

use std::future::Future;

pub(crate) use self::bare::Bare;
pub(crate) use self::leasehold::Leasehold;
pub(crate) use self::scripts::Scripts;
use crate::BoxError;

/// One way to lock on a Redis server. Clones share what they have.
pub(crate) trait Contestant: Clone + Send + Sync + 'static {
    /// What is held between acquire and release.
    type Held: Send;

    /// The name in the report.
    const NAME: &str;

    /// Waits for the lock as this way does.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Self::Held, BoxError>> + Send;

    fn release(&self, held: Self::Held) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// All of them, on one server.
#[derive(Debug)]
pub(crate) struct Contestants {
    pub(crate) leasehold: Leasehold,
    pub(crate) scripts: Scripts,
    pub(crate) bare: Bare,
}

impl Contestants {
    pub(crate) async fn enter(url: &str) -> Result<Self, BoxError> {
        Ok(Self {
            leasehold: Leasehold::enter(url).await?,
            scripts: Scripts::enter(url).await?,
            bare: Bare::enter(url).await?,
        })
    }
}

/// A connection as a careful user of the `redis` crate would make it.
async fn connection(url: &str) -> Result<redis::aio::MultiplexedConnection, BoxError> {
    use redis::IntoConnectionInfo;
    let info = url.into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let client = redis::Client::open(info.set_tcp_settings(tcp))?;
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}
