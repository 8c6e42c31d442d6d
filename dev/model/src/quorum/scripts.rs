//! The scripts that a node runs, each in one step, as they are in
//! `core/src/backend/redlock/scripts`.

use super::node::{Keys, NOBODY, id};
use super::setup::Setup;
use super::weakening::Weakening;

/// What an acquire finds on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Its round was released, and no copy is to take the lock any more.
    Sealed,
    /// The lock is free: a token is drawn.
    Free,
    /// A copy of the same request has taken the lock, and has drawn the token.
    Mine,
    /// Another round has the lock.
    Taken,
}

/// What `acquire.lua` decides by.
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

/// `acquire.lua`, on a node whose lock is free. A second copy is answered with the counter, and changes the TTL.
pub(crate) fn acquire(keys: &mut Keys, setup: &Setup, who: usize, token: u8) {
    (keys.holder, keys.left) = (id(who), timed_ttl(setup));
    (keys.counter, keys.drawer) = (token, id(who));
}

/// `raise_token.lua`: whether the node acknowledges the token.
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

/// `extend.lua`: whether the lease on the node was extended.
pub(crate) fn extend(keys: &mut Keys, setup: &Setup, who: usize, token: u8) -> bool {
    if !keys.is_held_by(who) && !setup.without(Weakening::ExtensionComparesOwner) {
        return false;
    }
    let is_ours = keys.drawer == id(who);
    if keys.counter > 0 && !is_ours && !setup.without(Weakening::ExtensionComparesToken) {
        return false;
    }
    // A node that granted late may have drawn less than the round's token, or more.
    if keys.counter < token {
        (keys.counter, keys.drawer) = (token, id(who));
    }
    if keys.holder != NOBODY {
        keys.left = timed_ttl(setup);
    }
    true
}

/// `release.lua`. `seal` says whether copies of the round's acquire are unanswered.
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
