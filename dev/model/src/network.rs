//! The messages in flight between clients and server. Answers that no client waits for are dropped.

use crate::action::Action;
use crate::attempt::{Line, Phase};
use crate::scripts::{self, Request};
use crate::setup::Setup;
use crate::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, who: usize, out: &mut Vec<Action>) {
    let attempt = &world.attempts[who];
    match attempt.line {
        Line::Idle | Line::Parked | Line::AskedFor { .. } => {}
        Line::Asked { .. } | Line::Renewing { .. } | Line::Recording => {
            out.push(Action::Arrive(who));
        }
        _ => out.push(Action::Answer(who)),
    }
    if setup.faults.late_copies
        && !setup.is_prompt()
        && !matches!(attempt.line, Line::Idle | Line::Parked)
    {
        out.push(Action::TimeOut(who));
    }
    if attempt.copies > 0 {
        out.push(Action::LateAsk(who));
    }
    if attempt.late_renewal {
        out.push(Action::LateRenewal(who));
    }
    if attempt.late_record {
        out.push(Action::LateRecord(who));
    }
}

/// Executes the request in flight.
pub(crate) fn arrive(world: &mut World, setup: &Setup, who: usize) {
    let line = match world.attempts[who].line {
        Line::Asked { age } => {
            let request = Request {
                owner: who,
                age,
                expired: age >= setup.times.allowed + setup.times.news,
            };
            scripts::acquire(world, setup, request)
        }
        Line::Renewing { age } => {
            if scripts::renew(world, setup, who) {
                Line::Extended { age }
            } else {
                Line::Gone
            }
        }
        Line::Recording => Line::Recorded {
            accepted: scripts::record(world, setup, who),
        },
        other => other,
    };
    world.attempts[who].line = line;
}

/// A duplicate of an acquire arrives late. Where messages are fast, there is only one duplicate.
pub(crate) fn late_ask(world: &mut World, setup: &Setup, who: usize) {
    let request = Request {
        owner: who,
        age: 0,
        expired: false,
    };
    scripts::acquire(world, setup, request);
    if setup.is_prompt() {
        world.attempts[who].copies = 0;
    }
}

/// A duplicate of a renewal arrives late.
pub(crate) fn late_renewal(world: &mut World, setup: &Setup, who: usize) {
    debug_assert!(matches!(
        world.attempts[who].phase,
        Phase::Holding | Phase::Leaving
    ));
    scripts::renew(world, setup, who);
}

/// A record arrives late. Where messages are fast, it arrives once.
pub(crate) fn late_record(world: &mut World, setup: &Setup, who: usize) {
    scripts::record(world, setup, who);
    if setup.is_prompt() {
        world.attempts[who].late_record = false;
    }
}
