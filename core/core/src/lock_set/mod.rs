//! Several locks as one: all or none, without deadlock.

mod acquire;
mod body_until_loss;
mod builder;
mod first_lease_end;
mod guard;
mod handle;
mod run_guard;

pub use builder::LockSet;
pub use guard::LockSetGuard;
pub use handle::LockSetHandle;
