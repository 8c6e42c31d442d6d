//! When a waiter looks again: `retry_after` of `core/src/backend/redis/mod.rs`, and the pause of
//! `core/src/engine/acquire`.

use crate::server::FOR_EVER;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// A waiter that never asks again unasked.
const NEVER: u8 = u8::MAX;

/// How often a waiter asks while no time passes: when it comes or a look is due, when it is handed the
/// lock, and when it is handed it again.
pub(crate) const ASKS_AT_ONCE: u8 = 3;

/// A wait that ends sooner has hardly been one.
const PROMPT: u8 = 1;

/// Whether a waiter is to ask at once.
pub(crate) fn is_due(world: &World, who: usize) -> bool {
    let attempt = &world.attempts[who];
    attempt.is_waiting() && (attempt.hint || attempt.recheck == 0)
}

/// What a busy answer says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) left: u8,
    pub(crate) first: bool,
}

/// How long until a waiter asks again unasked.
pub(crate) fn next_recheck(world: &World, setup: &Setup, who: usize, seen: Seen) -> u8 {
    let wait = retry_after(world, setup, who, seen);
    if setup.without(Weakening::PauseBetweenLooks) {
        wait.saturating_sub(1)
    } else {
        wait.max(PROMPT)
    }
}

fn retry_after(world: &World, setup: &Setup, who: usize, seen: Seen) -> u8 {
    let (refresh, first_looks) = (setup.times.refresh, setup.times.first_looks);
    if !seen.first && setup.without(Weakening::AllRecheck) {
        return NEVER;
    }
    let expires = match seen.left {
        FOR_EVER => first_looks,
        left => left,
    };
    let expires = expires.min(refresh);
    let mine = world
        .registered
        .iter()
        .find(|&it| setup.process(it) == setup.process(who));
    let first_here = mine == Some(who) && !setup.without(Weakening::FirstOfProcessLooks);
    if seen.first {
        expires.min(first_looks)
    } else if first_here {
        expires
    } else {
        refresh
    }
}
