//! `release.lua`: release and cleanup.

use super::queue::{dequeue, grant_next, grant_to_successor};
use crate::server::{Holder, id};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// The arguments of a release or cleanup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReleaseRequest {
    /// How long duplicates of the owner's acquires may still arrive, by the server's clock.
    pub(crate) seal: u8,
    /// A waiter that the answer names.
    pub(crate) named: Option<Named>,
}

/// A waiter of the process that releases the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Named {
    /// A waiter that may have a queue position.
    InLine(usize),
    /// A waiter that does not have a queue position, and has not sent its own request.
    Parked(usize),
}

impl Named {
    pub(crate) fn who(self) -> usize {
        match self {
            Self::InLine(who) | Self::Parked(who) => who,
        }
    }
}

/// Returns the token of the named waiter, if it got the lock.
pub(crate) fn release(
    world: &mut World,
    setup: &Setup,
    owner: usize,
    request: ReleaseRequest,
) -> Option<u8> {
    if let Some(Named::Parked(named)) = request.named
        && let Some(token) = pass_to_parked(world, setup, owner, named, request.seal)
    {
        return Some(token);
    }
    let named = match request.named {
        Some(Named::InLine(named)) => Some(named),
        Some(Named::Parked(_)) | None => None,
    };
    let held = world.server.is_held_by(owner) || setup.without(Weakening::OwnerCompared);
    if held {
        world.server.delete_lock();
    }
    // If the lease of the owner has expired, only this script notifies the waiters.
    let free = world.server.holder == Holder::Nobody;
    if !setup.without(Weakening::OwnPlaceRemoved) {
        dequeue(world, owner);
    }
    let mut passed = None;
    if free && !setup.without(Weakening::CleanupHandsOn) {
        passed = grant_next(world, setup, named);
        if passed.is_some() && setup.without(Weakening::PassDrawnByWaiter) {
            world.server.drawer = id(owner);
        }
    }
    if !setup.without(Weakening::Seal) {
        world.server.seals[owner] = request.seal;
    }
    passed
}

/// `release_handoff.lua`: releases the lock and acquires it for a parked waiter in one step, if the queue is empty.
fn pass_to_parked(
    world: &mut World,
    setup: &Setup,
    owner: usize,
    named: usize,
    seal: u8,
) -> Option<u8> {
    let server = &world.server;
    let is_holder = server.is_held_by(owner) || setup.without(Weakening::PassedByHolder);
    let in_order = server.queue.first().is_none() || setup.without(Weakening::ParkedInOrder);
    let is_voluntary = server.seals[named] == 0 || setup.without(Weakening::NamedUnsealed);
    let passes = is_holder && in_order && is_voluntary && seal == 0 && server.token > 0;
    passes.then(|| grant_to_successor(world, setup, named))
}
