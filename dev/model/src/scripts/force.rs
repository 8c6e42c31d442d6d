//! `force_release.lua`: takes the lock from whoever holds it, and hands it on.

use super::queue::hand_on;
use crate::setup::Setup;
use crate::world::World;

pub(crate) fn force(world: &mut World, setup: &Setup) {
    world.server.delete_lock();
    hand_on(world, setup, None);
}
