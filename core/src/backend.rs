//! The backends that store locks, and the trait for implementing one.
//!
//! Users of locks need only [`LockManager`](crate::LockManager), and nothing in this module.

#[doc(inline)]
pub use leasehold_core::backend::*;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
#[doc(inline)]
pub use leasehold_redis::redlock;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
#[cfg_attr(
    docsrs,
    doc(cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite")))
)]
#[doc(inline)]
pub use leasehold_sql as sql;
#[cfg(feature = "zookeeper")]
#[cfg_attr(docsrs, doc(cfg(feature = "zookeeper")))]
#[doc(inline)]
pub use leasehold_zookeeper as zookeeper;

/// Locks on Redis or Valkey: one server, the primary that Sentinels report, or a Cluster.
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub mod redis {
    #[cfg(feature = "simulation")]
    #[doc(hidden)]
    pub use leasehold_redis::{Connecting, Stream};
    #[doc(inline)]
    pub use leasehold_redis::{IntoClient, Redis, RedisBuilder, ReplyTooLarge};
}
