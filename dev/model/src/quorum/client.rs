//! The client.

use super::action::Action;
use super::node::Flag;
use super::reachable::Reachable;
use super::setup::Setup;
use super::weakening::Weakening;
use super::world::{Mark, Phase, Round, World};

/// Adds the steps that the client of `who` can take now.
pub(crate) fn actions(world: &World, setup: &Setup, who: usize, out: &mut Vec<Action>) {
    let round = &world.rounds[who];
    match round.phase {
        Phase::Asking => counts(world, setup, who, out),
        Phase::Holding if setup.faults.extends => {
            let is_releasing = world.count(who, Flag::OldRelease) > 0;
            if !is_releasing && (!setup.has_validity() || round.left > 0) {
                out.push(Action::Extend(who));
            }
            if round.extending {
                out.push(Action::GiveUpExtension(who));
            }
        }
        _ => {}
    }
    let has_left = matches!(round.phase, Phase::New | Phase::Leaving | Phase::Over);
    if setup.faults.leaves && !has_left {
        out.push(Action::Leave(who));
    }
    if setup.faults.writes && round.granted {
        out.push(Action::Write(who));
    }
}

/// The client may first see the answers of any quorum, or of more nodes.
fn counts(world: &World, setup: &Setup, who: usize, out: &mut Vec<Action>) {
    let mut answered = 0_u8;
    for node in setup.everywhere() {
        answered |= u8::from(world.nodes[node].lines[who].grant > 0) << node;
    }
    for nodes in 1..=answered {
        let enough = nodes.count_ones() >= u32::from(quorum(setup, nodes));
        if nodes & !answered == 0 && enough {
            out.push(Action::Count { who, nodes });
        }
    }
}

fn quorum(setup: &Setup, nodes: u8) -> u8 {
    let all = u8::try_from(setup.nodes).unwrap_or(u8::MAX);
    if setup.without(Weakening::Majority) {
        all / 2
    } else if setup.without(Weakening::OfAllNodes) {
        u8::try_from(nodes.count_ones()).unwrap_or(u8::MAX) / 2 + 1
    } else {
        all / 2 + 1
    }
}

/// Sends the acquire to every node. The exact time of sending only matters to the client. The latest time is the best
/// for the client: the validity is longest, and the most rounds have been granted before.
pub(crate) fn begin(world: &mut World, setup: &Setup, who: usize) {
    world.rounds[who] = Round {
        phase: Phase::Asking,
        after: world.granted(),
        left: validity(setup),
        life: setup.times.allowed,
        ..Round::NEW
    };
    for node in setup.everywhere() {
        world.line(who, node).set(Flag::Asked, true);
    }
}

/// Chooses the token: the largest one in a quorum's answers.
pub(crate) fn count(world: &mut World, setup: &Setup, who: usize, nodes: u8) {
    let counts = |node: usize| nodes & 1 << node != 0;
    let answers = setup.everywhere().filter(|&node| counts(node));
    let token = answers.map(|node| world.nodes[node].lines[who].grant).max();
    let token = token.unwrap_or(0);
    let round = &mut world.rounds[who];
    (round.phase, round.token) = (Phase::Raising, token);
    round.need = quorum(setup, nodes);
    if setup.without(Weakening::ValidityFromBegin) {
        round.left = validity(setup);
    }
    for node in setup.everywhere().filter(|&node| counts(node)) {
        let line = world.line(who, node);
        if line.grant == token || setup.without(Weakening::Agreement) {
            line.set(Flag::Acked, true);
        } else {
            line.set(Flag::Raise, true);
        }
        line.grant = 0;
    }
    if enter_if_agreed(world, setup, who) {
        setup.see(world, Reachable::OneRoundTrip);
    }
}

/// Handles an answer that arrives after the token was chosen.
pub(crate) fn count_later(world: &mut World, setup: &Setup, who: usize, node: usize) {
    let token = world.rounds[who].token;
    let line = world.line(who, node);
    let answer = std::mem::take(&mut line.grant);
    if answer < token {
        line.set(Flag::Raise, true);
    } else if answer == token {
        line.set(Flag::Acked, true);
        if enter_if_agreed(world, setup, who) {
            setup.see(world, Reachable::LaterAnswerCounts);
        }
    }
}

/// Handles the acknowledgement of a raise.
pub(crate) fn acknowledged(world: &mut World, setup: &Setup, who: usize, node: usize) {
    if world.rounds[who].phase != Phase::Raising {
        return;
    }
    world.line(who, node).set(Flag::Acked, true);
    if enter_if_agreed(world, setup, who) {
        setup.see(world, Reachable::Raised);
    }
}

/// Creates a guard when a quorum has the token, unless its validity is over. The time of this step does not matter to
/// the nodes. If it happens immediately, the guard is valid for the longest time, and the most rounds begin after it.
fn enter_if_agreed(world: &mut World, setup: &Setup, who: usize) -> bool {
    if world.count(who, Flag::Acked) < world.rounds[who].need {
        return false;
    }
    let voted = |node: &super::node::Node| node.is_back && node.lines[who].has(Flag::Acked);
    if world.nodes.iter().any(voted) {
        setup.see(world, Reachable::VotesAgain);
    }
    let round = &mut world.rounds[who];
    if setup.has_validity() && round.left == 0 {
        if !setup.without(Weakening::ValidityAtEnd) {
            round.phase = Phase::Leaving;
            setup.see(world, Reachable::TooLate);
            return false;
        }
        // The guard is valid for at least a moment.
        round.left = 1;
    }
    (round.phase, round.granted) = (Phase::Holding, true);
    if round.after != 0 {
        setup.see(world, Reachable::LaterGuard);
    }
    true
}

pub(crate) fn extend(world: &mut World, setup: &Setup, who: usize) {
    let token = world.rounds[who].token;
    let later = world.rounds.iter().any(|it| it.granted && it.token > token);
    let round = &mut world.rounds[who];
    (round.extending, round.extends_late) = (true, later);
    round.extends_to = validity(setup);
    for node in setup.everywhere() {
        let line = world.line(who, node);
        line.set(Flag::Extend, true);
        line.set(Flag::Extended, false);
    }
}

/// Handles the answer of a node to the extension.
pub(crate) fn extended(world: &mut World, setup: &Setup, who: usize, node: usize) {
    if !world.rounds[who].extending {
        return;
    }
    world.line(who, node).set(Flag::Extended, true);
    let need = if setup.without(Weakening::ExtensionByQuorum) {
        1
    } else {
        world.rounds[who].need
    };
    if world.count(who, Flag::Extended) < need {
        return;
    }
    let round = &mut world.rounds[who];
    round.extending = false;
    // A success after the end has no effect.
    if setup.has_validity() && (round.left == 0 || round.extends_to == 0) {
        return;
    }
    round.left = round.extends_to;
    if round.extends_late {
        world.mark(Mark::Revived);
    }
    setup.see(world, Reachable::Extended);
}

pub(crate) fn give_up_extension(world: &mut World, setup: &Setup, who: usize) {
    world.rounds[who].extending = false;
    if setup.without(Weakening::ExtensionFails) {
        for node in setup.everywhere() {
            world.line(who, node).set(Flag::OldRelease, true);
        }
    }
}

pub(crate) fn leave(world: &mut World, who: usize) {
    world.rounds[who].phase = Phase::Leaving;
    world.rounds[who].extending = false;
}

/// Records that a node has answered the release.
pub(crate) fn released(world: &mut World, setup: &Setup, who: usize, node: usize) {
    world.line(who, node).set(Flag::Released, true);
    if usize::from(world.count(who, Flag::Released)) == setup.nodes {
        world.rounds[who].phase = Phase::Over;
    }
}

fn validity(setup: &Setup) -> u8 {
    if setup.without(Weakening::DriftMargin) {
        setup.times.ttl
    } else {
        setup.times.validity()
    }
}

/// Writes to a resource that refuses tokens below the largest one that it has seen.
pub(crate) fn write(world: &mut World, setup: &Setup, who: usize) {
    let token = world.rounds[who].token;
    if token < world.highest_write {
        return;
    }
    let wrote = |it: usize| world.writers & 1 << it != 0;
    let is_later = |it: usize| world.rounds[it].after & 1 << who != 0;
    if setup.everyone().any(|it| wrote(it) && is_later(it)) {
        world.mark(Mark::StaleWrite);
    }
    world.highest_write = token;
    world.writers |= 1 << who;
}
