//! Refuses an acquire that would deadlock, because its own task holds the lock.

use crate::backend::Mode;
use crate::engine::Engine;
use crate::reentrant::held_by_outer_scope;
use crate::{Error, Key, ReentrancyScope, held_locks_of_task};

/// Returns an error if this task holds the lock in a scope. Accepts an acquire of permits, because more permits may be
/// free.
pub(crate) fn check_self_deadlock(
    mode: Mode,
    engine: &Engine,
    key: &Key,
    own: Option<&ReentrancyScope>,
) -> Result<(), Error> {
    let around = || held_by_outer_scope(engine, key, own).then_some(Mode::Exclusive);
    let held = held_locks_of_task::held(&engine.backend, key)
        .filter(|held| held.is_like(mode))
        .or_else(around);
    let key = || key.clone();
    match (held, mode) {
        (None, _) | (_, Mode::Permits { .. }) => Ok(()),
        (Some(Mode::Shared), Mode::Exclusive) => Err(Error::Upgrade { key: key() }),
        (Some(_), _) => Err(Error::AlreadyHeld { key: key() }),
    }
}
