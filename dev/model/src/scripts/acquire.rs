//! `acquire.lua`: acquires the lock, confirms a hand-off, answers a duplicate of the same request, or returns busy.

use super::queue::{dequeue, grant, grant_to_confirm, next_waiter, note_barging};
use super::record_outcome::finds_outcome;
use crate::attempt::{Line, Phase};
use crate::claim::Reachable;
use crate::server::{FOR_EVER, Holder};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// A request of an acquire that arrives at the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) owner: usize,
    /// The time since its sending.
    pub(crate) age: u8,
    /// Whether its expiry E has passed.
    pub(crate) expired: bool,
}

pub(crate) fn acquire(world: &mut World, setup: &Setup, request: Request) -> Line {
    let Request { owner, age, .. } = request;
    if finds_outcome(world, setup) {
        return Line::Found { age };
    }
    let expired = request.expired && !setup.without(Weakening::Expiry);
    if expired || world.server.seals[owner] > 0 {
        setup.see(world, Reachable::LateCopyRefused);
        return Line::Late { age };
    }
    if setup.is_prompt()
        && world.attempts[owner].phase == Phase::Trying
        && !world.came.contains(owner)
    {
        world.came.push(owner);
    }

    if world.server.holder == Holder::Nobody {
        if setup.without(Weakening::OnlyThoseAhead) {
            if others_wait(world, owner) {
                return busy(world, setup, request);
            }
        } else if !setup.without(Weakening::QueueBeforeFree)
            && let Some(waiter) = next_waiter(world, setup, Some(owner))
            && waiter != owner
        {
            grant_to_confirm(world, setup, waiter);
        }
    }
    if world.server.holder != Holder::Nobody && !world.server.is_held_by(owner) {
        return busy(world, setup, request);
    }

    if world.server.is_held_by(owner) && is_second_copy(world, setup, owner) {
        if !setup.without(Weakening::TtlSetAnew) {
            world.server.left = setup.times.ttl;
        }
        dequeue(world, owner);
        setup.see(world, Reachable::SecondCopyGranted);
        let token = world.server.token;
        return Line::Granted { age, token };
    }

    if world.server.is_held_by(owner) {
        setup.see(world, Reachable::HandOffConfirmed);
    } else {
        note_barging(world, setup, owner);
    }
    let token = grant(world, setup, owner, setup.times.ttl);
    Line::Granted { age, token }
}

fn busy(world: &mut World, setup: &Setup, request: Request) -> Line {
    let Request { owner, age, .. } = request;
    // Every client in the model requests healing.
    if world.server.left == FOR_EVER && !setup.without(Weakening::Heals) {
        world.server.left = setup.times.ttl;
    }
    if !world.server.queue.contains(owner) {
        world.server.queue.push(owner);
    }
    world.server.places[owner] = setup.times.place;
    let (mut left, mut first) = (0, false);
    if setup.is_prompt() {
        left = world.server.left;
        first = world.server.queue.first() == Some(owner);
    }
    Line::Busy { age, left, first }
}

/// Returns whether this attempt drew the token.
fn is_second_copy(world: &World, setup: &Setup, owner: usize) -> bool {
    if setup.without(Weakening::SecondCopyDrawsNothing) {
        return false;
    }
    if setup.without(Weakening::DrawerDecides) {
        return world.server.token > 0 && !world.server.has_live_place(owner);
    }
    world.server.was_drawn_by(owner)
}

fn others_wait(world: &World, owner: usize) -> bool {
    let server = &world.server;
    let mut queue = server.queue.iter();
    queue.any(|it| it != owner && server.places[it] > 0)
}
