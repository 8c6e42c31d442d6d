//! `release.lua`: release and cleanup.

use super::queue::{dequeue, grant_next};
use crate::server::{Holder, id};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// What a release or cleanup says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReleaseRequest {
    /// How long copies of the owner's acquires may still come, by the server's clock.
    pub(crate) seal: u8,
    /// A waiter that hears of the answer.
    pub(crate) successor: Option<usize>,
}

/// The token of the successor, if the lock was granted to it.
pub(crate) fn release(
    world: &mut World,
    setup: &Setup,
    owner: usize,
    request: ReleaseRequest,
) -> Option<u8> {
    let held = world.server.is_held_by(owner) || setup.without(Weakening::OwnerCompared);
    if held {
        world.server.delete_lock();
    }
    // Where its lease has run out, nobody else tells those who wait.
    let free = world.server.holder == Holder::Nobody;
    if !setup.without(Weakening::OwnPlaceRemoved) {
        dequeue(world, owner);
    }
    let mut passed = None;
    if free && !setup.without(Weakening::CleanupHandsOn) {
        passed = grant_next(world, setup, request.successor);
        if passed.is_some() && setup.without(Weakening::PassDrawnByWaiter) {
            world.server.drawer = id(owner);
        }
    }
    if !setup.without(Weakening::Seal) {
        world.server.seals[owner] = request.seal;
    }
    passed
}
