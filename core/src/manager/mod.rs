//! Lock managers: their builder, connections by URL, and the default manager.

mod builder;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "redis", feature = "zookeeper"))))]
mod connect;
mod default;
mod list;
mod lock_manager;
mod operator;

pub use builder::LockManagerBuilder;
pub use list::{ListedLock, LockList};
pub use lock_manager::LockManager;
