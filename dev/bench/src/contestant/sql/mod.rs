//! The locks that are written by hand in SQL, and the one of `sqlx`.

mod advisory_lock;
mod for_update;
mod statements;

pub(super) use self::advisory_lock::AdvisoryLock;
pub(super) use self::for_update::ForUpdate;
pub(super) use self::statements::Statements;
