//! `release.lua`: release and cleanup.

use super::queue::{forget, hand_on};
use crate::server::{Holder, id};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// What a release or cleanup brings along.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    /// How long copies of the owner's acquires may still come, by the server's clock.
    pub(crate) seal: u8,
    /// A waiter that hears of the answer.
    pub(crate) named: Option<usize>,
}

/// The token of the named waiter, if the lock is its.
pub(crate) fn leave(world: &mut World, setup: &Setup, owner: usize, left: Left) -> Option<u8> {
    let held = world.server.is_held_by(owner) || setup.without(Weakening::OwnerCompared);
    if held {
        world.server.delete_lock();
    }
    // Where its lease has run out, nobody else tells those who wait.
    let free = world.server.holder == Holder::Nobody;
    if !setup.without(Weakening::OwnPlaceRemoved) {
        forget(world, owner);
    }
    let mut passed = None;
    if free && !setup.without(Weakening::CleanupHandsOn) {
        passed = hand_on(world, setup, left.named);
        if passed.is_some() && setup.without(Weakening::PassDrawnByWaiter) {
            world.server.drawer = id(owner);
        }
    }
    if !setup.without(Weakening::Seal) {
        world.server.seals[owner] = left.seal;
    }
    passed
}
