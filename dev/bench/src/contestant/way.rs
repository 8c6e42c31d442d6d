use super::Field;
use super::any_contestant::AnyContestant;
use super::async_redis_lock::AsyncRedisLock;
use super::bare::Bare;
use super::distkit::Distkit;
use super::distributed_lock_redis::DistributedLockRedis;
use super::drawing::Drawing;
use super::leasehold::Leasehold;
use super::passing::Passing;
use super::ping::Ping;
use super::redlock::Redlock;
use super::rslock::Rslock;
use super::scripts::Scripts;
use super::zookeeper_recipe::ZooKeeperRecipe;
use crate::BoxError;

/// A contestant of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Scripts,
    Leasehold,
    ZooKeeper,
    ZooKeeperRecipe,
    Ping,
    Bare,
    Drawing,
    Passing,
    Rslock,
    Distkit,
    Redlock,
    AsyncRedisLock,
    DistributedLockRedis,
}

impl Way {
    /// The contestants for workloads without waiting. The direct scripts come first, because the others are compared
    /// with them.
    pub(crate) const LIMITS: &[Self] = &[Self::Scripts, Self::Leasehold, Self::Bare];

    /// The same contestants, and the peers.
    pub(crate) const ALONE: &[Self] = &[
        Self::Scripts,
        Self::Leasehold,
        Self::Bare,
        Self::Rslock,
        Self::Distkit,
        Self::Redlock,
        Self::AsyncRedisLock,
        Self::DistributedLockRedis,
    ];

    /// The contestants for workloads in which many tasks want one lock. The peers wait with their defaults.
    pub(crate) const CROWD: &[Self] = &[
        Self::Scripts,
        Self::Leasehold,
        Self::ZooKeeper,
        Self::Rslock,
        Self::Distkit,
        Self::Redlock,
        Self::AsyncRedisLock,
        Self::DistributedLockRedis,
    ];

    /// The contestants of the same workloads in one process, with one that only works there, and the limit of the
    /// library on `ZooKeeper`.
    pub(crate) const CROWD_AT_HOME: &[Self] = &[
        Self::Scripts,
        Self::Leasehold,
        Self::Passing,
        Self::ZooKeeper,
        Self::ZooKeeperRecipe,
        Self::Rslock,
        Self::Distkit,
        Self::Redlock,
        Self::AsyncRedisLock,
        Self::DistributedLockRedis,
    ];

    /// Returns the name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scripts => "same scripts by hand",
            Self::Leasehold => "leasehold",
            Self::ZooKeeper => "leasehold, ZooKeeper",
            Self::ZooKeeperRecipe => "ZooKeeper recipe by hand",
            Self::Ping => "PING by hand",
            Self::Bare => "SET NX PX by hand",
            Self::Drawing => "SET and token by hand",
            Self::Passing => "1 round trip by hand",
            Self::Rslock => "rslock",
            Self::Distkit => "distkit",
            Self::Redlock => "redlock",
            Self::AsyncRedisLock => "async-redis-lock",
            Self::DistributedLockRedis => "distributed-lock-redis",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALONE.iter().chain(Self::CROWD_AT_HOME);
        all.find(|way| way.name() == name).copied()
    }

    /// Returns whether the contestant is another library.
    pub(crate) fn is_peer(name: &str) -> bool {
        !name.starts_with("leasehold") && !name.ends_with("by hand")
    }

    /// Returns the commands that the contestant sends. Commands of its scripts are not included.
    pub(crate) fn sends(self) -> &'static [&'static str] {
        match self {
            Self::Scripts | Self::Leasehold | Self::Drawing | Self::Passing => &["evalsha"],
            Self::ZooKeeper | Self::ZooKeeperRecipe => &[],
            Self::Ping => &["ping"],
            Self::AsyncRedisLock => &["evalsha", "eval"],
            _ => &["evalsha", "eval", "set"],
        }
    }

    pub(crate) async fn enter(self, field: &Field) -> Result<AnyContestant, BoxError> {
        let url = &field.redis;
        let urls = std::slice::from_ref(url);
        Ok(match self {
            Self::Scripts => AnyContestant::Scripts(Scripts::enter(url).await?),
            Self::Leasehold => AnyContestant::Leasehold(Leasehold::enter(url).await?),
            Self::ZooKeeper => AnyContestant::Leasehold(Leasehold::enter(&field.zookeeper).await?),
            Self::ZooKeeperRecipe => {
                let recipe = ZooKeeperRecipe::enter(&field.zookeeper).await?;
                AnyContestant::ZooKeeperRecipe(recipe)
            }
            Self::Ping => AnyContestant::Ping(Ping::enter(url).await?),
            Self::Bare => AnyContestant::Bare(Bare::enter(url).await?),
            Self::Drawing => AnyContestant::Drawing(Drawing::enter(url).await?),
            Self::Passing => AnyContestant::Passing(Passing::enter(url).await?),
            Self::Rslock => AnyContestant::Rslock(Rslock::enter(urls)),
            Self::Distkit => AnyContestant::Distkit(Distkit::enter(url).await?),
            Self::Redlock => AnyContestant::Redlock(Redlock::enter(urls)),
            Self::AsyncRedisLock => {
                AnyContestant::AsyncRedisLock(AsyncRedisLock::enter(url).await?)
            }
            Self::DistributedLockRedis => {
                AnyContestant::DistributedLockRedis(DistributedLockRedis::enter(url).await?)
            }
        })
    }
}
