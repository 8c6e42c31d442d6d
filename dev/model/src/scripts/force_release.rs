//! `force_release.lua`: ends the lock of any holder, and grants it to the next waiter.

use super::queue::grant_next;
use crate::setup::Setup;
use crate::world::World;

pub(crate) fn force_release(world: &mut World, setup: &Setup) {
    world.server.delete_lock();
    grant_next(world, setup, None);
}
