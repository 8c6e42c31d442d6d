mod builder;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "redis", feature = "zookeeper"))))]
mod connect;
mod current;
mod locks;

pub use self::builder::LockManagerBuilder;
pub use self::current::GlobalDefaultSet;
pub use self::locks::LockManager;
