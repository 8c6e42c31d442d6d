//! Faults other than delays: locks that expire early, nodes that lose their state, and counters that expire.

use super::action::Action;
use super::node::{Flag, Keys, NOBODY};
use super::reachable::Reachable;
use super::setup::{Clocks, Setup};
use super::weakening::Weakening;
use super::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    for at in setup.everywhere() {
        let node = &world.nodes[at];
        if !node.serves() {
            if node.away > ticks_away(setup) {
                out.push(Action::Return(at));
            }
            continue;
        }
        if node.keys.holder != NOBODY && !setup.is_timed() {
            out.push(Action::Expire(at));
        }
        if world.budget.saves > 0 && node.saved.is_none() {
            out.push(Action::Save(at));
        }
        // In worlds where nodes save, only a node with a saved state may crash.
        let has_saved = setup.budget.saves == 0 || node.saved.is_some_and(|it| it != node.keys);
        if world.budget.crashes > 0 && has_saved {
            out.push(Action::Crash(at));
        }
        if setup.times.idle > 0 && node.keys.counter > 0 && node.idle >= ticks_idle(setup) {
            out.push(Action::Forget(at));
        }
    }
}

/// Returns how far a drawn token may be ahead of the clocks, and how much of that is due to clocks alone.
fn spread(setup: &Setup) -> (u8, u8) {
    match setup.clocks {
        Clocks::Within { epsilon, ahead } => (epsilon + ahead, epsilon),
        _ => (0, 0),
    }
}

/// Returns how many ticks a node that lost its state stays away, at least.
pub(crate) fn ticks_away(setup: &Setup) -> u8 {
    let (ahead, epsilon) = spread(setup);
    match setup.weakening {
        Some(Weakening::StaysAway | Weakening::AwayForTtl) => 0,
        Some(Weakening::AwayForHints) => epsilon,
        Some(Weakening::AwayForLonger | Weakening::FailoverLater) => ahead,
        Some(Weakening::AwayForLeases) => ahead + 1,
        Some(Weakening::AwayForCopies) => setup.times.ttl + 1,
        _ => setup.times.away + 1,
    }
}

/// Returns how many ticks an unwritten counter is kept, at least.
pub(crate) fn ticks_idle(setup: &Setup) -> u8 {
    if setup.without(Weakening::CounterOutlives) {
        spread(setup).1
    } else {
        setup.times.idle + 1
    }
}

pub(crate) fn expire(world: &mut World, node: usize) {
    world.nodes[node].keys.delete_lock();
}

pub(crate) fn save(world: &mut World, node: usize) {
    world.budget.saves -= 1;
    world.nodes[node].saved = Some(world.nodes[node].keys);
}

/// Crashes the node. It receives nothing until it is back, and then has its saved state.
pub(crate) fn crash(world: &mut World, setup: &Setup, node: usize) {
    world.budget.crashes -= 1;
    let it = &mut world.nodes[node];
    let lost = it.keys.holder;
    it.keys = it.saved.take().unwrap_or(Keys::EMPTY);
    it.away = 1;
    if it.keys.holder != NOBODY && it.keys.holder != lost {
        setup.see(world, Reachable::OlderState);
    }
}

pub(crate) fn come_back(world: &mut World, setup: &Setup, node: usize) {
    let it = &mut world.nodes[node];
    (it.away, it.idle) = (0, 0);
    for line in &mut it.lines {
        // A node that has acknowledged a token before its crash does not count as voting again.
        if line.has(Flag::Acked) && setup.looks_for == Some(Reachable::VotesAgain) {
            return;
        }
    }
    it.is_back = setup.looks_for == Some(Reachable::VotesAgain);
}

pub(crate) fn forget(world: &mut World, setup: &Setup, node: usize) {
    let keys = &mut world.nodes[node].keys;
    (keys.counter, keys.drawer) = (0, NOBODY);
    setup.see(world, Reachable::CounterExpired);
}
