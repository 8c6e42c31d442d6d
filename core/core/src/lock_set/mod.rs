//! Several locks as one: all or none, without deadlock.

mod acquire;
mod builder;
mod first_lease_end;
mod guard;
mod handle;
mod run;
mod run_while_held;

pub use builder::LockSet;
pub use guard::LockSetGuard;
pub use handle::LockSetHandle;
