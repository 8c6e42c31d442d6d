//! Lock managers: their builder, connections by URL, and the default manager.

mod builder;
mod connect;
mod default;
mod list;
mod lock_manager;
mod operator;

pub use builder::LockManagerBuilder;
pub use list::{ListedLock, LockList};
pub use lock_manager::LockManager;
