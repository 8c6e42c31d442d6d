mod builder;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
mod connect;
mod current;
mod locks;

pub use self::builder::LockManagerBuilder;
pub use self::current::GlobalDefaultSet;
pub use self::locks::LockManager;
