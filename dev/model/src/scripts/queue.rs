//! `queue.lua`: the functions that all scripts share.

use crate::attempt::Phase;
use crate::claim::Reachable;
use crate::server::id;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::{Mark, World};

pub(super) fn dequeue(world: &mut World, owner: usize) {
    world.server.queue.remove(owner);
    world.server.places[owner] = 0;
}

/// Returns the first waiter in the queue that receives notifications, or that the answer names. A waiter without an
/// order has no turn.
pub(super) fn next_waiter(world: &mut World, setup: &Setup, hears: Option<usize>) -> Option<usize> {
    if is_unfair(setup) {
        return None;
    }
    let queue = world.server.queue;
    for waiter in queue.iter() {
        if world.server.places[waiter] == 0 {
            dequeue(world, waiter);
        } else if hears == Some(waiter) || publish(world, setup, waiter) {
            return Some(waiter);
        }
    }
    None
}

/// Returns whether the waiters compete for a free lock.
fn is_unfair(setup: &Setup) -> bool {
    setup.unfair && !setup.without(Weakening::UnfairHasNoTurn)
}

/// Notifies all waiters without an order.
fn notify_unfair(world: &mut World, setup: &Setup) {
    let queue = world.server.queue;
    for waiter in queue.iter().filter(|_| is_unfair(setup)) {
        if world.server.places[waiter] == 0 {
            dequeue(world, waiter);
        } else if publish(world, setup, waiter) && setup.without(Weakening::UnfairAllNotified) {
            return;
        }
    }
}

/// Makes the next waiter the owner of a free lock for the time of its confirmation.
pub(super) fn grant_to_confirm(world: &mut World, setup: &Setup, waiter: usize) {
    note_barging(world, setup, waiter);
    world.server.set_lock(waiter, setup.times.grant);
    if setup.without(Weakening::PlaceKeptToConfirm) {
        dequeue(world, waiter);
    } else if !setup.without(Weakening::PlaceEndsWithGrant) {
        world.server.places[waiter] = setup.times.grant_place;
    }
}

/// Grants the lock to the next waiter. `successor` need not confirm: the answer contains its token, and the releasing
/// client notifies it.
pub(super) fn grant_next(world: &mut World, setup: &Setup, successor: Option<usize>) -> Option<u8> {
    notify_unfair(world, setup);
    let next = match successor.filter(|&it| world.server.has_live_place(it)) {
        Some(successor) if setup.without(Weakening::PassInOrder) => successor,
        _ => next_waiter(world, setup, successor)?,
    };
    if successor == Some(next) {
        return Some(grant_to_successor(world, setup, next));
    }
    grant_to_confirm(world, setup, next);
    None
}

/// Grants and confirms the lock in one step. The TTL is that of a grant until the first renewal.
pub(super) fn grant_to_successor(world: &mut World, setup: &Setup, waiter: usize) -> u8 {
    note_barging(world, setup, waiter);
    let ttl = if setup.without(Weakening::PassForGrant) {
        setup.times.ttl
    } else {
        setup.times.grant
    };
    grant(world, setup, waiter, ttl)
}

/// Grants the lock with the next token.
pub(super) fn grant(world: &mut World, setup: &Setup, waiter: usize, ttl: u8) -> u8 {
    let token = next_token(world, setup);
    if world.server.outcome > 0 {
        world.mark(Mark::RunAgain);
    }
    world.came.remove(waiter);
    world.server.set_lock(waiter, ttl);
    (world.server.token, world.server.drawer) = (token, id(waiter));
    dequeue(world, waiter);
    token
}

/// `max(counter + 1, TIME)`.
pub(super) fn next_token(world: &mut World, setup: &Setup) -> u8 {
    if setup.without(Weakening::TimeFloor) {
        return world.server.token + 1;
    }
    world.clock = world.clock.max(world.server.token) + 1;
    world.clock
}

/// `PUBLISH`: returns whether a process is subscribed to the waiter's inbox. A process whose task has died is still
/// subscribed.
pub(super) fn publish(world: &mut World, setup: &Setup, waiter: usize) -> bool {
    if world.deaf & setup.process(waiter) != 0 {
        setup.see(world, Reachable::DeafPassedOver);
        return setup.without(Weakening::DeafPassedOver);
    }
    // In worlds where every attempt may send a request at any time, a notification has no effect.
    let matters = setup.is_prompt() || setup.without(Weakening::ConfirmBeforeGuard);
    if matters && world.attempts[waiter].phase == Phase::Trying {
        world.attempts[waiter].hint = true;
    }
    true
}

/// Records whether an earlier waiter that receives notifications is skipped.
pub(super) fn note_barging(world: &mut World, setup: &Setup, chosen: usize) {
    if world.attempts[chosen].phase != Phase::Trying {
        return;
    }
    let earlier = world.came;
    let mut earlier = earlier.iter().take_while(|&it| it != chosen);
    let waits = |who: usize| {
        world.attempts[who].phase == Phase::Trying && world.deaf & setup.process(who) == 0
    };
    if earlier.any(waits) {
        world.mark(Mark::Barged);
    }
}
