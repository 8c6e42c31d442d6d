//! Several locks as one: all or nothing, in an order in which nobody waits in a circle.

mod acquire;
mod ended;
mod grip;
mod guard;
mod handle;
mod outcome;
mod run;
mod set;

pub use self::guard::LockSetGuard;
pub use self::handle::LockSetHandle;
pub use self::outcome::LockSetReleaseOutcome;
pub use self::run::LockSetRun;
pub use self::set::LockSet;
