//! Lock managers: their builder, connections by URL, and the default manager.

mod builder;
mod connect_by_url;
mod default_manager;
mod inspect_and_force_release;
mod list_locks;
mod lock_manager;

pub use builder::LockManagerBuilder;
pub use list_locks::{ListedLock, LockList};
pub use lock_manager::LockManager;
