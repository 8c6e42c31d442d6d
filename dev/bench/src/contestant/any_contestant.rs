use super::Visitor;
use super::async_redis_lock::AsyncRedisLock;
use super::bare::Bare;
use super::distkit::Distkit;
use super::distributed_lock_redis::DistributedLockRedis;
use super::drawing::Drawing;
use super::leasehold::Leasehold;
use super::passing::Passing;
use super::ping::Ping;
use super::quorum::Quorum;
use super::redlock::Redlock;
use super::rslock::Rslock;
use super::scripts::Scripts;
use super::sql::{AdvisoryLock, ForUpdate, Statements};
use super::zookeeper_recipe::ZooKeeperRecipe;
use crate::BoxError;

/// A connected contestant.
#[derive(Debug, Clone)]
pub(crate) enum AnyContestant {
    Quorum(Quorum),
    Scripts(Scripts),
    Leasehold(Leasehold),
    Bare(Bare),
    Drawing(Drawing),
    Passing(Passing),
    Ping(Ping),
    ZooKeeperRecipe(ZooKeeperRecipe),
    Rslock(Rslock),
    Distkit(Distkit),
    Redlock(Redlock),
    AsyncRedisLock(AsyncRedisLock),
    DistributedLockRedis(DistributedLockRedis),
    Statements(Statements),
    AdvisoryLock(AdvisoryLock),
    ForUpdate(ForUpdate),
}

impl AnyContestant {
    pub(crate) async fn receive<V: Visitor>(&self, visitor: &V) -> V::Output {
        match self {
            Self::Quorum(it) => visitor.visit(it).await,
            Self::Scripts(it) => visitor.visit(it).await,
            Self::Leasehold(it) => visitor.visit(it).await,
            Self::Bare(it) => visitor.visit(it).await,
            Self::Drawing(it) => visitor.visit(it).await,
            Self::Passing(it) => visitor.visit(it).await,
            Self::Ping(it) => visitor.visit(it).await,
            Self::ZooKeeperRecipe(it) => visitor.visit(it).await,
            Self::Rslock(it) => visitor.visit(it).await,
            Self::Distkit(it) => visitor.visit(it).await,
            Self::Redlock(it) => visitor.visit(it).await,
            Self::AsyncRedisLock(it) => visitor.visit(it).await,
            Self::DistributedLockRedis(it) => visitor.visit(it).await,
            Self::Statements(it) => visitor.visit(it).await,
            Self::AdvisoryLock(it) => visitor.visit(it).await,
            Self::ForUpdate(it) => visitor.visit(it).await,
        }
    }
}

/// Returns the contestants that lock on a majority of several nodes, with their names.
pub(crate) async fn on_nodes(
    urls: &[String],
) -> Result<Vec<(&'static str, AnyContestant)>, BoxError> {
    let by_hand = AnyContestant::Quorum(Quorum::enter(urls).await?);
    Ok(vec![
        ("same scripts by hand", by_hand),
        ("leasehold", ours_on_nodes(urls).await?),
        ("rslock", AnyContestant::Rslock(Rslock::enter(urls))),
        ("redlock", AnyContestant::Redlock(Redlock::enter(urls))),
    ])
}

/// Returns the library on several nodes.
pub(crate) async fn ours_on_nodes(urls: &[String]) -> Result<AnyContestant, BoxError> {
    Ok(AnyContestant::Leasehold(Leasehold::on_nodes(urls).await?))
}
