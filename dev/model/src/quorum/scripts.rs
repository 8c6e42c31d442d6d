//! The scripts of a node, each in one step, as in `core/backends/redis/src/redlock/scripts`.

use super::node::{Keys, NOBODY, id};
use super::setup::Setup;
use super::weakening::Weakening;

/// The state that an acquire finds on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The round was released, so no duplicate may acquire the lock.
    Sealed,
    /// The lock is free, so a token is drawn.
    Free,
    /// A duplicate of the same request has acquired the lock and drawn the token.
    Mine,
    /// Another round holds the lock.
    Taken,
}

/// The condition that `acquire.lua` checks.
pub(crate) fn find(keys: &Keys, who: usize) -> Found {
    if keys.is_sealed_for(who) {
        Found::Sealed
    } else if keys.holder == NOBODY {
        Found::Free
    } else if keys.is_held_by(who) && keys.counter > 0 && keys.drawer == id(who) {
        Found::Mine
    } else {
        Found::Taken
    }
}

/// `acquire.lua` on a node with a free lock. A duplicate gets the counter as its answer, and sets the TTL.
pub(crate) fn acquire(keys: &mut Keys, setup: &Setup, who: usize, token: u8) {
    (keys.holder, keys.left) = (id(who), timed_ttl(setup));
    (keys.counter, keys.drawer) = (token, id(who));
}

/// `raise_token.lua`: returns whether the node acknowledges the token.
pub(crate) fn raise_token(keys: &mut Keys, setup: &Setup, who: usize, token: u8) -> bool {
    if !keys.is_held_by(who) && !setup.without(Weakening::RaiseComparesOwner) {
        return false;
    }
    if keys.counter == 0 {
        return false;
    }
    if keys.counter < token {
        (keys.counter, keys.drawer) = (token, id(who));
    }
    keys.counter == token || setup.without(Weakening::RaiseEquals)
}

/// `extend.lua`: returns whether the lease on the node was extended.
pub(crate) fn extend(keys: &mut Keys, setup: &Setup, who: usize, token: u8) -> bool {
    if !keys.is_held_by(who) && !setup.without(Weakening::ExtensionComparesOwner) {
        return false;
    }
    let is_ours = keys.drawer == id(who);
    if keys.counter > 0 && !is_ours && !setup.without(Weakening::ExtensionComparesToken) {
        return false;
    }
    // A node that granted late may have drawn a smaller or a larger token than that of the round.
    if keys.counter < token {
        (keys.counter, keys.drawer) = (token, id(who));
    }
    if keys.holder != NOBODY {
        keys.left = timed_ttl(setup);
    }
    true
}

/// `release.lua`. `seal` is set if duplicates of the round's acquire are unanswered.
pub(crate) fn release(keys: &mut Keys, setup: &Setup, who: usize, seal: bool) {
    if keys.is_held_by(who) {
        keys.delete_lock();
        if setup.without(Weakening::ReleaseKeepsCounter) {
            keys.counter = 0;
        }
    }
    if seal && !setup.without(Weakening::Seal) {
        keys.seals |= 1 << who;
    }
}

fn timed_ttl(setup: &Setup) -> u8 {
    if setup.is_timed() { setup.times.ttl } else { 0 }
}
