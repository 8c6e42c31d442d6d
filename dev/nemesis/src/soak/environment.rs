use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;

/// How long a lock outlives a holder that has stopped. It is short, so that the run recovers from its faults.
pub(super) const TTL: Duration = Duration::from_secs(3);

/// The server, and two managers.
pub(super) struct Environment {
    pub(super) server: RedisServer,
    /// The proxy of the second manager.
    pub(super) proxy: Proxy,
    pub(super) managers: [LockManager; 2],
}

impl Environment {
    pub(super) async fn build() -> Result<Self, BoxError> {
        let server = RedisServer::start().await?;
        let proxy = Proxy::start(server.port()).await?;
        let direct = manager(&server.url()).await?;
        let troubled = manager(&server.url_at(proxy.port())).await?;
        Ok(Self {
            server,
            proxy,
            managers: [direct, troubled],
        })
    }
}

async fn manager(url: &str) -> Result<LockManager, BoxError> {
    let builder = LockManager::builder();
    let builder = builder.ttl(TTL).command_timeout(Duration::from_millis(500));
    Ok(builder.build(Redis::connect(url).await?)?)
}
