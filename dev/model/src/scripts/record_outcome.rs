//! `record_outcome.lua`: records the outcome of the holder, frees the lock and notifies all waiters. `find_outcome.lua`: ends an
//! attempt if the server keeps an outcome.

use super::queue::{dequeue, publish};
use crate::claim::Reachable;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::{Mark, World};

/// Returns whether the server keeps an outcome that ends the attempt.
pub(super) fn finds_outcome(world: &mut World, setup: &Setup) -> bool {
    let finds = world.server.outcome > 0 && !setup.without(Weakening::OutcomeFirst);
    if finds {
        setup.see(world, Reachable::OutcomeFound);
    }
    finds
}

/// Returns whether the server keeps, or has just accepted, the outcome of this owner.
pub(crate) fn record(world: &mut World, setup: &Setup, owner: usize) -> bool {
    let (server, token) = (&world.server, world.attempts[owner].token);
    let is_holder = server.is_held_by(owner) || setup.without(Weakening::RecordComparesOwner);
    let drew = server.token == 0 || server.was_drawn_by(owner) && server.token == token;
    if !is_holder || !drew && !setup.without(Weakening::RecordComparesToken) {
        return is_kept(world, setup, owner);
    }
    note_outcome(world, setup, owner);
    (world.server.outcome, world.server.kept) = (token, setup.times.keep);
    world.server.delete_lock();
    let seal = world.attempts[owner].copies;
    if seal > 0 && !setup.without(Weakening::RecordSeals) {
        world.server.seals[owner] = seal;
    }
    let queue = world.server.queue;
    for waiter in queue.iter() {
        if !setup.without(Weakening::RecordNotifies) {
            publish(world, setup, waiter);
        }
        if !setup.without(Weakening::RecordEmptiesQueue) {
            dequeue(world, waiter);
        }
    }
    true
}

/// Returns whether the kept outcome is that of this owner, from an earlier record without an answer.
fn is_kept(world: &mut World, setup: &Setup, owner: usize) -> bool {
    let (kept, token) = (world.server.outcome, world.attempts[owner].token);
    let is_mine = kept == token || setup.without(Weakening::RecordComparesOutcome);
    if kept == 0 || !is_mine {
        setup.see(world, Reachable::LateOutcomeRefused);
        return false;
    }
    setup.see(world, Reachable::SecondCopyRecorded);
    if world.recorded & 1 << owner == 0 {
        world.mark(Mark::ConfirmedWrongly);
    }
    true
}

/// Notes what the claims need to know about an outcome that the server accepts now.
fn note_outcome(world: &mut World, setup: &Setup, owner: usize) {
    let token = world.attempts[owner].token;
    if !world.server.is_held_by(owner) || world.attempts.iter().any(|it| it.token > token) {
        world.mark(Mark::Revived);
    }
    if world.server.outcome > 0 {
        world.mark(Mark::SecondOutcome);
    } else if world.recorded != 0 {
        setup.see(world, Reachable::NextOutcome);
    }
    if token <= world.highest_outcome {
        world.mark(Mark::OlderOutcome);
    }
    world.highest_outcome = world.highest_outcome.max(token);
    world.recorded |= 1 << owner;
}
