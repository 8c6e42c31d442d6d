//! When a waiter polls: `retry_after` of `core/backends/redis/src/lib.rs`, and the pause of `core/core/src/engine/acquire`.

use crate::server::FOR_EVER;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// A waiter that never polls without a notification.
const NEVER: u8 = u8::MAX;

/// The maximum number of requests of a waiter while no time passes. One is sent when the waiter arrives or polls, and
/// up to two after hand-offs.
pub(crate) const ASKS_AT_ONCE: u8 = 3;

/// A shorter wait hardly counts as a wait.
const PROMPT: u8 = 1;

/// Returns whether a waiter must send a request immediately.
pub(crate) fn is_due(world: &World, who: usize) -> bool {
    let attempt = &world.attempts[who];
    attempt.is_waiting() && (attempt.hint || attempt.recheck == 0)
}

/// The contents of a busy answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) left: u8,
    pub(crate) first: bool,
}

/// Returns the time until a waiter polls without a notification.
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
    let is_unfair = setup.unfair && !setup.without(Weakening::UnfairAllLook);
    if seen.first {
        expires.min(first_looks)
    } else if is_unfair || first_here {
        expires
    } else {
        refresh
    }
}
