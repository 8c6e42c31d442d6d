//! Several locks as one: all or none, without deadlock.

mod acquire;
mod first_end;
mod guard;
mod handle;
mod run;
mod run_under;
mod set;

pub use guard::LockSetGuard;
pub use handle::LockSetHandle;
pub use set::LockSet;
