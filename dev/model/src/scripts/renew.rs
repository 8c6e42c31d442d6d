//! `renew.lua`: extends the lease if this owner holds the lock with the token that it drew.

use crate::claim::Reachable;
use crate::server::{Holder, id};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::{Mark, World};

/// Returns whether the lease was extended.
pub(crate) fn renew(world: &mut World, setup: &Setup, owner: usize) -> bool {
    let is_holder = world.server.is_held_by(owner);
    if !is_holder && !setup.without(Weakening::RenewalComparesOwner) {
        setup.see(world, Reachable::RenewalRefused);
        return false;
    }
    let token = world.attempts[owner].token;
    let record = (world.server.token > 0).then_some((world.server.token, world.server.drawer));
    let is_mine = record == Some((token, id(owner)));
    if record.is_some() && !is_mine && !setup.without(Weakening::RenewalComparesToken) {
        return false;
    }
    if !is_holder || world.attempts.iter().any(|it| it.token > token) {
        world.mark(Mark::Revived);
    }
    if world.server.holder != Holder::Nobody {
        world.server.left = setup.times.ttl;
    }
    if record.is_none() {
        (world.server.token, world.server.drawer) = (token, id(owner));
    }
    true
}
