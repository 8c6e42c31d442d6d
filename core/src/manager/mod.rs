mod builder;
mod current;
mod locks;

pub use self::builder::LockManagerBuilder;
pub use self::current::GlobalDefaultSet;
pub use self::locks::LockManager;
