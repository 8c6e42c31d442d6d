//! `queue.lua`: what all scripts share.

use crate::attempt::Phase;
use crate::claim::Sight;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::{Mark, World};

pub(super) fn forget(world: &mut World, owner: usize) {
    world.server.queue.remove(owner);
    world.server.places[owner] = 0;
}

/// The first waiter, from the front, who can be woken, or who is the caller.
pub(super) fn next_in_line(
    world: &mut World,
    setup: &Setup,
    caller: Option<usize>,
) -> Option<usize> {
    let queue = world.server.queue;
    for waiter in queue.iter() {
        if world.server.places[waiter] == 0 {
            forget(world, waiter);
        } else if caller == Some(waiter) || publish(world, setup, waiter) {
            return Some(waiter);
        }
    }
    None
}

/// Makes the next waiter the owner of a free lock for as long as it has to confirm.
pub(super) fn grant(world: &mut World, setup: &Setup, waiter: usize) {
    note_barging(world, setup, waiter);
    world.server.set_lock(waiter, setup.times.grant);
    if setup.without(Weakening::PlaceKeptToConfirm) {
        forget(world, waiter);
    } else if !setup.without(Weakening::PlaceEndsWithGrant) {
        world.server.places[waiter] = setup.times.grant_place;
    }
}

pub(super) fn hand_on(world: &mut World, setup: &Setup) {
    if let Some(waiter) = next_in_line(world, setup, None) {
        grant(world, setup, waiter);
    }
}

/// `PUBLISH`: whether anybody listens at the waiter's inbox. A process whose task died listens on.
fn publish(world: &mut World, setup: &Setup, waiter: usize) -> bool {
    if world.deaf & setup.process(waiter) != 0 {
        setup.see(world, Sight::DeafPassedOver);
        return setup.without(Weakening::DeafPassedOver);
    }
    // Where everybody may ask at any time, a wake-up changes nothing.
    let matters = setup.is_prompt() || setup.without(Weakening::ConfirmBeforeGuard);
    if matters && world.attempts[waiter].phase == Phase::Trying {
        world.attempts[waiter].hint = true;
    }
    true
}

/// Notes whether one that came earlier, waits, and can be told, is passed over.
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
