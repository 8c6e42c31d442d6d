//! Faults other than delays: deaths, lost notifications, foreign programs, operators, and a server that loses its data.

use crate::action::Action;
use crate::attempt::{Line, Phase};
use crate::claim::Reachable;
use crate::server::{FOR_EVER, Holder, Server};
use crate::setup::Setup;
use crate::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    let free = world.server.holder == Holder::Nobody;
    let is_foreign = world.server.holder == Holder::Foreign;
    if setup.faults.foreign_lockers {
        if free && (!setup.is_prompt() || world.budget.foreign > 0) {
            out.push(Action::ForeignTakes);
        }
        if is_foreign {
            out.push(Action::ForeignReleases);
        }
    }
    if setup.faults.meddling && (!setup.is_prompt() || world.budget.foreign > 0) {
        if !free {
            out.push(Action::ForeignDeletes);
        }
        if !(is_foreign && world.server.left == FOR_EVER) {
            out.push(Action::ForeignOverwrites);
        }
    }
    if setup.faults.force && !free {
        out.push(Action::Force);
    }
    if world.budget.memory_losses > 0 {
        out.push(Action::MemoryLoss);
    }
    for who in setup.everyone() {
        if world.attempts[who].hint && world.budget.lost_hints > 0 {
            out.push(Action::LoseHint(who));
        }
    }
    processes(world, setup, out);
}

fn processes(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    let is_alive = |who: &usize| {
        let phase = world.attempts[*who].phase;
        !matches!(phase, Phase::New | Phase::Over | Phase::Dead)
    };
    let mut seen = 0;
    for who in setup.everyone() {
        let bit = setup.process(who);
        let process = setup.process_of[who];
        let mut others = setup
            .everyone()
            .filter(|&it| setup.process_of[it] == process);
        if world.budget.deaths > 0 && is_alive(&who) {
            out.push(Action::Die(who));
        }
        if seen & bit != 0 || world.gone & bit != 0 {
            continue;
        }
        seen |= bit;
        if world.budget.deaths > 0 && others.any(|it| is_alive(&it)) {
            out.push(Action::ProcessDies(process));
        }
        let may_break = world.budget.disconnections > 0 || !setup.is_prompt();
        if setup.faults.deafness {
            if world.deaf & bit != 0 {
                out.push(Action::Reconnect(process));
            } else if may_break {
                out.push(Action::Disconnect(process));
            }
        }
    }
}

/// The attempt ends without a cleanup. Requests in flight may still arrive.
pub(crate) fn die(world: &mut World, setup: &Setup, who: usize) {
    world.budget.deaths -= 1;
    fall_silent(world, setup, who);
}

pub(crate) fn process_dies(world: &mut World, setup: &Setup, process: u8) {
    world.budget.deaths -= 1;
    world.deaf |= 1 << process;
    world.gone |= 1 << process;
    for who in setup
        .everyone()
        .filter(|&it| setup.process_of[it] == process)
    {
        let phase = world.attempts[who].phase;
        if phase == Phase::New {
            // The attempt has not begun, and never will.
            world.end(who, Phase::Over);
        } else if phase != Phase::Over && phase != Phase::Dead {
            fall_silent(world, setup, who);
        }
    }
}

fn fall_silent(world: &mut World, setup: &Setup, who: usize) {
    let attempt = &mut world.attempts[who];
    if let Line::Asked { age } = attempt.line {
        attempt.copies = (setup.times.allowed + setup.times.news).saturating_sub(age);
    }
    attempt.late_record |= attempt.line == Line::Recording;
    let costs = cost_of_death(world, setup, who);
    world.allowance += costs;
    world.end(who, Phase::Dead);
}

/// Returns how long a dead attempt may keep the lock from the living ones.
fn cost_of_death(world: &World, setup: &Setup, who: usize) -> u8 {
    let times = setup.times;
    let process_lives = world.gone & setup.process(who) == 0;
    let mut cost = 0;
    if world.server.is_held_by(who) && world.server.was_drawn_by(who) {
        // The rest of its lease, or of the time for the confirmation of a hand-off. After that a waiter must poll.
        let attempt = &world.attempts[who];
        // An answer in flight belongs to a request that confirmed the hand-off.
        let is_confirmed = matches!(attempt.line, Line::Granted { .. });
        let is_untaken = attempt.passed.is_some() && !is_confirmed;
        let most = if is_untaken { times.grant } else { FOR_EVER };
        cost += world.server.left.min(most) + setup.looks_after_expiry;
    } else if world.server.is_held_by(who) {
        // The rest of its grant, which the others do not know about.
        cost += world.server.left + setup.missed_look();
    } else if world.server.has_live_place(who) && process_lives && !setup.unfair {
        // The attempt may be granted the lock without confirming it.
        cost += times.grant + setup.missed_look();
    }
    if world.attempts[who].copies > 0 {
        // Its request may arrive, and acquire the lock or a queue position.
        cost += times.ttl.max(times.grant) + setup.missed_look();
    }
    cost
}

pub(crate) fn lose_hint(world: &mut World, setup: &Setup, who: usize) {
    world.budget.lost_hints -= 1;
    world.allowance += setup.times.grant + setup.missed_look();
    world.attempts[who].hint = false;
}

pub(crate) fn disconnect(world: &mut World, setup: &Setup, process: u8) {
    world.budget.disconnections = world.budget.disconnections.saturating_sub(1);
    world.deaf |= 1 << process;
    if setup.is_prompt() {
        for who in setup
            .everyone()
            .filter(|&it| setup.process_of[it] == process)
        {
            // Messages that are published during the disconnection or are in flight are lost.
            if world.attempts[who].hint {
                world.allowance += setup.times.grant + setup.missed_look();
            }
            world.attempts[who].hint = false;
        }
    }
}

pub(crate) fn reconnect(world: &mut World, setup: &Setup, process: u8) {
    world.deaf &= !(1 << process);
    if setup.is_prompt() {
        for who in setup
            .everyone()
            .filter(|&it| setup.process_of[it] == process)
        {
            world.attempts[who].hint |= world.attempts[who].phase == Phase::Trying;
        }
    }
}

pub(crate) fn foreign_takes(world: &mut World, setup: &Setup) {
    (world.server.holder, world.server.left) = (Holder::Foreign, setup.times.ttl);
    // The release of the foreign program sends no notification.
    count_meddling(world, setup);
}

pub(crate) fn foreign_deletes(world: &mut World, setup: &Setup) {
    count_meddling(world, setup);
    setup.see(world, Reachable::KeyTakenAway);
    world.server.delete_lock();
}

/// Waiters notice the change only when they poll next.
fn count_meddling(world: &mut World, setup: &Setup) {
    if setup.is_prompt() {
        world.budget.foreign -= 1;
        world.allowance += setup.times.refresh;
    }
}

pub(crate) fn foreign_overwrites(world: &mut World, setup: &Setup) {
    count_meddling(world, setup);
    (world.server.holder, world.server.left) = (Holder::Foreign, FOR_EVER);
}

pub(crate) fn memory_loss(world: &mut World) {
    world.budget.memory_losses -= 1;
    world.server = Server::EMPTY;
}
