//! Whoever waits for what it holds itself waits for ever, and is told so.

use crate::backend::Mode;
use crate::engine::Engine;
use crate::reentrant::held_around;
use crate::{AcquireError, Key, OwnerScope, holding};

/// Refuses a lock that this task holds, by what it said. Not so with permits, of which there may be more.
pub(crate) fn refuse_own(
    mode: Mode,
    engine: &Engine,
    key: &Key,
    own: Option<&OwnerScope>,
) -> Result<(), AcquireError> {
    let around = || held_around(engine, key, own).then_some(Mode::Exclusive);
    let held = holding::held(&engine.backend, key)
        .filter(|held| held.is_like(mode))
        .or_else(around);
    let key = || key.clone();
    match (held, mode) {
        (None, _) | (_, Mode::Permits { .. }) => Ok(()),
        (Some(Mode::Shared), Mode::Exclusive) => Err(AcquireError::Upgrade { key: key() }),
        (Some(_), _) => Err(AcquireError::AlreadyHeld { key: key() }),
    }
}
