//! The execution of requests on the nodes, in any order, late, twice or never. A lost answer is one that the client
//! does not read.

use super::action::Action;
use super::node::Flag;
use super::possible_tokens::{each, possible_tokens, renumber};
use super::reachable::Reachable;
use super::scripts::{self, Found};
use super::setup::Setup;
use super::weakening::Weakening;
use super::world::{Phase, World};
use super::{client, node::Node};

pub(crate) fn actions(world: &World, setup: &Setup, who: usize, out: &mut Vec<Action>) {
    for node in setup.everywhere() {
        if world.nodes[node].serves() {
            deliveries(world, setup, (who, node), out);
        }
        let line = &world.nodes[node].lines[who];
        if setup.later_answers && world.rounds[who].phase == Phase::Raising && line.grant > 0 {
            out.push(Action::CountLater { who, node });
        }
    }
}

fn deliveries(world: &World, setup: &Setup, (who, node): (usize, usize), out: &mut Vec<Action>) {
    let Node { keys, lines, .. } = &world.nodes[node];
    let (round, line) = (&world.rounds[who], &lines[who]);
    if line.has(Flag::Asked) || round.phase == Phase::New {
        match scripts::find(keys, who) {
            Found::Sealed => out.push(Action::AcquireLate { who, node }),
            Found::Mine => out.push(Action::AcquireAgain { who, node }),
            Found::Taken => {}
            Found::Free => {
                let listens = listens(setup, round.phase);
                for draw in each(possible_tokens(world, setup, who, node)) {
                    if !listens || line.grant > 0 {
                        let heard = false;
                        out.push(Action::Acquire {
                            who,
                            node,
                            draw,
                            heard,
                        });
                    }
                    if listens {
                        let heard = true;
                        out.push(Action::Acquire {
                            who,
                            node,
                            draw,
                            heard,
                        });
                    }
                }
            }
        }
    }
    if line.has(Flag::Raise) {
        out.push(Action::Raise { who, node });
    }
    if line.has(Flag::Extend) {
        out.push(Action::ExtendAt { who, node });
    }
    if line.has(Flag::OldRelease) {
        out.push(Action::OldRelease { who, node });
    }
    if setup.faults.leaves && round.phase == Phase::Leaving && !line.has(Flag::Released) {
        for answered in [true, false] {
            out.push(Action::Release {
                who,
                node,
                answered,
            });
        }
    }
}

/// Returns whether the client still handles answers to its acquires.
fn listens(setup: &Setup, phase: Phase) -> bool {
    matches!(phase, Phase::New | Phase::Asking) || setup.later_answers && phase == Phase::Raising
}

/// A free node executes an acquire.
pub(crate) fn acquire(
    world: &mut World,
    setup: &Setup,
    (who, node): (usize, usize),
    draw: u8,
    heard: bool,
) {
    if world.rounds[who].phase == Phase::New {
        client::begin(world, setup, who);
    }
    renumber(world, setup);
    if !heard {
        setup.see(world, Reachable::TakenAnew);
    }
    let it = &mut world.nodes[node];
    scripts::acquire(&mut it.keys, setup, who, draw);
    it.idle = 0;
    if heard {
        it.lines[who].grant = draw;
    }
    it.lines[who].set(Flag::Asked, setup.faults.copies);
    let holds_quorum = |who: usize| {
        let nodes = world.nodes.iter();
        2 * nodes.filter(|it| it.keys.is_held_by(who)).count() > setup.nodes
    };
    let all_taken = setup
        .everywhere()
        .all(|node| world.nodes[node].keys.holder != super::node::NOBODY);
    if all_taken && !setup.everyone().any(holds_quorum) {
        setup.see(world, Reachable::SplitVote);
    }
}

/// A node answers a duplicate of an acquire, and sets the TTL again.
pub(crate) fn acquire_again(world: &mut World, setup: &Setup, (who, node): (usize, usize)) {
    setup.see(world, Reachable::SecondCopyAnswered);
    let listens = listens(setup, world.rounds[who].phase);
    let it = &mut world.nodes[node];
    let token = it.keys.counter;
    scripts::acquire(&mut it.keys, setup, who, token);
    if listens {
        it.lines[who].grant = token;
    }
}

pub(crate) fn raise(world: &mut World, setup: &Setup, (who, node): (usize, usize)) {
    let token = world.rounds[who].token;
    let it = &mut world.nodes[node];
    it.lines[who].set(Flag::Raise, setup.faults.copies);
    if scripts::raise_token(&mut it.keys, setup, who, token) {
        it.idle = 0;
        client::acknowledged(world, setup, who, node);
    } else {
        setup.see(world, Reachable::RaiseRefused);
    }
}

pub(crate) fn extend(world: &mut World, setup: &Setup, (who, node): (usize, usize)) {
    let token = world.rounds[who].token;
    let it = &mut world.nodes[node];
    it.lines[who].set(Flag::Extend, setup.faults.copies);
    if scripts::extend(&mut it.keys, setup, who, token) {
        it.idle = 0;
        client::extended(world, setup, who, node);
    } else {
        setup.see(world, Reachable::ExtensionRefused);
    }
}

pub(crate) fn release(
    world: &mut World,
    setup: &Setup,
    (who, node): (usize, usize),
    answered: bool,
) {
    let it = &mut world.nodes[node];
    let seal = it.lines[who].has(Flag::Asked) && !setup.without(Weakening::Seal);
    scripts::release(&mut it.keys, setup, who, seal);
    if answered {
        client::released(world, setup, who, node);
    }
}

/// A node executes a duplicate of a release that was sent too early.
pub(crate) fn old_release(world: &mut World, setup: &Setup, (who, node): (usize, usize)) {
    let it = &mut world.nodes[node];
    it.lines[who].set(Flag::OldRelease, false);
    scripts::release(&mut it.keys, setup, who, false);
}
