//! Lock managers: their builder, connections by URL, and the default manager.

mod builder;
mod connect;
mod default;
mod lock_manager;

pub use builder::LockManagerBuilder;
pub use lock_manager::LockManager;
