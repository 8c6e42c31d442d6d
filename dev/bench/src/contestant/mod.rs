//! Who runs.

mod async_redis_lock;
mod bare;
mod distributed_lock_redis;
mod inbox;
mod leasehold;
mod quorum;
mod rslock;
mod scripts;

use std::future::Future;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion};

use self::async_redis_lock::AsyncRedisLock;
use self::bare::Bare;
use self::distributed_lock_redis::DistributedLockRedis;
use self::inbox::Inbox;
use self::leasehold::Leasehold;
use self::quorum::Quorum;
use self::rslock::Rslock;
use self::scripts::Scripts;
use crate::BoxError;

/// One way to lock on a server. Clones share what they have.
pub(crate) trait Contestant: Clone + Send + Sync + 'static {
    /// What is held between acquire and release.
    type Held: Send + 'static;

    /// Waits for the lock as this way does.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Self::Held, BoxError>> + Send;

    fn release(&self, held: Self::Held) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Whether it can wait for a lock that is held. What cannot shows how quick one task alone could be.
    fn can_wait(&self) -> bool {
        true
    }
}

/// What is done with a contestant.
pub(crate) trait Visitor {
    type Output;

    fn visit<C: Contestant>(&self, contestant: &C) -> impl Future<Output = Self::Output> + Send;
}

/// All of them, on one Redis server, and us on one `ZooKeeper` server as well.
#[derive(Debug)]
pub(crate) struct Field {
    url: String,
    zookeeper: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Entrant {
    Quorum(Quorum),
    Scripts(Scripts),
    Leasehold(Leasehold),
    ZooKeeper(Leasehold),
    Bare(Bare),
    Rslock(Rslock),
    AsyncRedisLock(AsyncRedisLock),
    DistributedLockRedis(DistributedLockRedis),
}

impl Field {
    pub(crate) fn of(url: &str, zookeeper: &str) -> Self {
        Self {
            url: url.into(),
            zookeeper: zookeeper.into(),
        }
    }

    /// The scripts by hand come first: they are what the others are measured by.
    async fn both(&self) -> Result<Vec<Entrant>, BoxError> {
        let scripts = Scripts::enter(&self.url).await?;
        let leasehold = Leasehold::enter(&self.url).await?;
        Ok(vec![
            Entrant::Scripts(scripts),
            Entrant::Leasehold(leasehold),
        ])
    }

    /// For work in which nobody waits.
    pub(crate) async fn limits(&self) -> Result<Vec<Entrant>, BoxError> {
        let mut all = self.both().await?;
        all.push(Entrant::Bare(Bare::enter(&self.url).await?));
        Ok(all)
    }

    /// For work in which many want one lock: the peers wait as they do by default.
    pub(crate) async fn peers(&self) -> Result<Vec<Entrant>, BoxError> {
        let mut all = self.both().await?;
        all.push(Entrant::ZooKeeper(Leasehold::enter(&self.zookeeper).await?));
        all.push(Entrant::Rslock(Rslock::enter(std::slice::from_ref(
            &self.url,
        ))));
        all.push(Entrant::AsyncRedisLock(
            AsyncRedisLock::enter(&self.url).await?,
        ));
        all.push(Entrant::DistributedLockRedis(
            DistributedLockRedis::enter(&self.url).await?,
        ));
        Ok(all)
    }
}

/// Those that lock on a majority of several nodes.
pub(crate) async fn on_nodes(urls: &[String]) -> Result<Vec<Entrant>, BoxError> {
    Ok(vec![
        Entrant::Quorum(Quorum::enter(urls).await?),
        Entrant::Leasehold(Leasehold::on_nodes(urls).await?),
        Entrant::Rslock(Rslock::enter(urls)),
    ])
}

/// The library on several nodes.
pub(crate) async fn ours_on_nodes(urls: &[String]) -> Result<Entrant, BoxError> {
    Ok(Entrant::Leasehold(Leasehold::on_nodes(urls).await?))
}

impl Entrant {
    /// The name in the report.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Quorum(_) | Self::Scripts(_) => "same scripts by hand",
            Self::Leasehold(_) => "leasehold",
            Self::ZooKeeper(_) => "leasehold, ZooKeeper",
            Self::Bare(_) => "SET NX PX by hand",
            Self::Rslock(_) => "rslock",
            Self::AsyncRedisLock(_) => "async-redis-lock",
            Self::DistributedLockRedis(_) => "distributed-lock-redis",
        }
    }

    pub(crate) async fn receive<V: Visitor>(&self, visitor: &V) -> V::Output {
        match self {
            Self::Quorum(it) => visitor.visit(it).await,
            Self::Scripts(it) => visitor.visit(it).await,
            Self::Leasehold(it) | Self::ZooKeeper(it) => visitor.visit(it).await,
            Self::Bare(it) => visitor.visit(it).await,
            Self::Rslock(it) => visitor.visit(it).await,
            Self::AsyncRedisLock(it) => visitor.visit(it).await,
            Self::DistributedLockRedis(it) => visitor.visit(it).await,
        }
    }
}

/// A connection as a careful user of the `redis` crate would make it.
async fn connection(url: &str, inbox: &Inbox) -> Result<MultiplexedConnection, BoxError> {
    let info = url.into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    let client = Client::open(info.set_tcp_settings(tcp).set_redis_settings(settings))?;
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_push_sender(inbox.clone());
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}
