//! `leave.lua`: release and cleanup.

use super::queue::{forget, hand_on};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// `seal` is how long copies of the owner's acquires may still come, by the server's clock.
pub(crate) fn leave(world: &mut World, setup: &Setup, owner: usize, seal: u8) {
    let held = world.server.is_held_by(owner) || setup.without(Weakening::OwnerCompared);
    if held {
        world.server.delete_lock();
    }
    if !setup.without(Weakening::OwnPlaceRemoved) {
        forget(world, owner);
    }
    if held && !setup.without(Weakening::CleanupHandsOn) {
        hand_on(world, setup);
    }
    if !setup.without(Weakening::Seal) {
        world.server.seals[owner] = seal;
    }
}
