//! The client: `core/core/src/engine` (`acquire`, `lease`, `renew`, `release`), and the additions of
//! `core/backends/redis/src` (`attempt`, `protocol/unanswered_requests`, `wait/local_queue`).

use crate::action::Action;
use crate::attempt::{Line, Naming, Pass, Phase};
use crate::claim::Reachable;
use crate::parking;
use crate::recheck::{self, ASKS_AT_ONCE, Seen};
use crate::scripts::{self, Named};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

/// Adds the steps that the client of `who` can take now.
pub(crate) fn actions(world: &World, setup: &Setup, who: usize, out: &mut Vec<Action>) {
    let attempt = &world.attempts[who];
    match attempt.phase {
        Phase::New => out.push(Action::Ask(who)),
        Phase::Trying => {
            if attempt.is_waiting() && (!setup.is_prompt() || recheck::is_due(world, who)) {
                out.push(Action::Ask(who));
            }
            if setup.faults.cancels {
                out.push(Action::Cancel(who));
            }
            if attempt.passed.is_some() && attempt.line == Line::Idle {
                out.push(Action::TakePass(who));
            }
            if attempt.hint && setup.without(Weakening::ConfirmBeforeGuard) {
                out.push(Action::GuardFromHint(who));
            }
            if attempt.slow_grant.is_some() && attempt.line.unanswered_ask().is_some() {
                out.push(Action::SlowGrant(who));
            }
        }
        Phase::Holding => {
            let due = !setup.is_prompt() || attempt.left < setup.times.ttl;
            let is_idle = attempt.left > 0 && attempt.line == Line::Idle;
            if is_idle && due {
                out.push(Action::Renew(who));
            }
            if is_idle && setup.once {
                out.push(Action::Record(who));
            }
            out.push(Action::Release(who));
        }
        Phase::Leaving => {
            out.push(Action::Leave(who));
            if !setup.is_prompt() {
                out.push(Action::LeaveUnanswered(who));
                if same_process_waiter(world, setup, who).is_some() {
                    out.push(Action::LeaveNamingNobody(who));
                }
            }
        }
        Phase::Over | Phase::Dead => {}
    }
    if setup.faults.writes && attempt.token > 0 {
        out.push(Action::Write(who));
    }
}

pub(crate) fn ask(world: &mut World, setup: &Setup, who: usize) {
    if world.attempts[who].phase == Phase::New {
        world.attempts[who].phase = Phase::Trying;
        world.attempts[who].after = world.granted();
    }
    if setup.is_prompt() && !world.registered.contains(who) {
        world.registered.push(who);
    }
    let attempt = &mut world.attempts[who];
    attempt.line = Line::Asked { age: 0 };
    if setup.is_prompt() {
        // Larger numbers than the allowed one are not distinguished.
        attempt.asked_now = (attempt.asked_now + 1).min(ASKS_AT_ONCE + 1);
    }
    (attempt.hint, attempt.recheck) = (false, 0);
}

pub(crate) fn renew(world: &mut World, who: usize) {
    world.attempts[who].line = Line::Renewing { age: 0 };
}

/// Handles the answer to the request in flight.
pub(crate) fn answer(world: &mut World, setup: &Setup, who: usize) {
    let line = std::mem::replace(&mut world.attempts[who].line, Line::Idle);
    match line {
        Line::Granted { age, token } => enter(world, setup, who, Grant::of(setup, age, token)),
        Line::Busy { left, first, .. } if setup.is_prompt() => {
            world.attempts[who].recheck =
                recheck::next_recheck(world, setup, who, Seen { left, first });
        }
        // A renewal that is confirmed after the end of the lease has no effect.
        Line::Extended { age } if world.attempts[who].left > 0 => {
            world.attempts[who].left = lease_left(setup, setup.times.ttl, age);
        }
        Line::Gone | Line::Recorded { accepted: false } => world.attempts[who].left = 0,
        // A record that is confirmed after the end of the lease does not end the attempt, so a release follows.
        Line::Recorded { accepted: true } if world.attempts[who].left > 0 => {
            world.end(who, Phase::Over);
        }
        Line::Found { .. } => found(world, setup, who),
        _ => {}
    }
}

/// Ends an attempt that has found an outcome. If a request had no answer, a cleanup follows.
fn found(world: &mut World, setup: &Setup, who: usize) {
    if world.attempts[who].unanswered && !setup.without(Weakening::FoundCleansUp) {
        leave_off(world, setup, who);
    } else {
        world.end(who, Phase::Over);
    }
}

/// The contents of a grant.
#[derive(Debug, Clone, Copy)]
struct Grant {
    /// The length of the lease without renewal.
    length: u8,
    age: u8,
    token: u8,
}

impl Grant {
    fn of(setup: &Setup, age: u8, token: u8) -> Self {
        let length = setup.times.ttl;
        Self { length, age, token }
    }
}

/// Creates a guard from a grant, unless its lease is over.
fn enter(world: &mut World, setup: &Setup, who: usize, grant: Grant) {
    let left = lease_left(setup, grant.length, grant.age);
    (world.attempts[who].slow_grant, world.attempts[who].passed) = (None, None);
    (world.attempts[who].hint, world.attempts[who].asked_now) = (false, 0);
    world.registered.remove(who);
    if left == 0 {
        world.attempts[who].phase = Phase::Leaving;
        return;
    }
    world.attempts[who].phase = Phase::Holding;
    world.attempts[who].left = left;
    world.attempts[who].token = grant.token;
    if world.attempts.iter().filter(|it| it.holds()).count() > 1 {
        setup.see(world, Reachable::SecondHolder);
    }
    if world.attempts[who].after != 0 {
        setup.see(world, Reachable::LaterGuard);
    }
    if world.attempts.iter().any(|it| it.phase == Phase::Dead) {
        setup.see(world, Reachable::ServedAfterDeath);
    }
}

/// Returns the remaining lease. The deadline counts from the sending of the answered request.
fn lease_left(setup: &Setup, length: u8, age: u8) -> u8 {
    let margin = if setup.without(Weakening::DriftMargin) {
        0
    } else {
        setup.times.margin
    };
    length.saturating_sub(margin).saturating_sub(age)
}

/// Stops waiting for the answer to the request in flight. Duplicates of the request may still arrive.
pub(crate) fn time_out(world: &mut World, setup: &Setup, who: usize) {
    let attempt = &mut world.attempts[who];
    let line = std::mem::replace(&mut attempt.line, Line::Idle);
    if let Some(age) = line.unanswered_ask() {
        let left = (setup.times.allowed + setup.times.news).saturating_sub(age);
        attempt.copies = attempt.copies.max(left);
        attempt.unanswered |= setup.once;
        if setup.without(Weakening::SealUntilExpiry) {
            attempt.noted = setup.times.allowed;
        }
    } else if matches!(line, Line::AskedFor { .. }) {
        let is_noted = !setup.without(Weakening::NamingNoted);
        attempt.naming = attempt.naming.map(|it| Naming { is_noted, ..it });
    } else if matches!(line, Line::Recording | Line::Recorded { .. }) {
        attempt.late_record = true;
    } else if !matches!(line, Line::Idle | Line::Parked) {
        attempt.late_renewal = true;
    }
    if let Line::Granted { token, .. } = line
        && setup.without(Weakening::DeadlinePerReply)
    {
        attempt.slow_grant = Some(token);
    }
}

/// A weakened client treats the answer to an earlier duplicate as the answer to its last request.
pub(crate) fn slow_grant(world: &mut World, setup: &Setup, who: usize) {
    let attempt = world.attempts[who];
    if let (Some(token), Some(age)) = (attempt.slow_grant, attempt.line.unanswered_ask()) {
        time_out(world, setup, who);
        enter(world, setup, who, Grant::of(setup, age, token));
    }
}

/// A weakened client creates a guard from a notification, with the token at the server.
pub(crate) fn guard_from_hint(world: &mut World, setup: &Setup, who: usize) {
    time_out(world, setup, who);
    let token = world.server.token;
    enter(world, setup, who, Grant::of(setup, 0, token));
}

/// Drops the acquire or the guard. From here on, the client must send the cleanup or release.
pub(crate) fn leave_off(world: &mut World, setup: &Setup, who: usize) {
    time_out(world, setup, who);
    world.attempts[who].phase = Phase::Leaving;
    world.attempts[who].left = 0;
    (world.attempts[who].hint, world.attempts[who].recheck) = (false, 0);
    let attempt = &mut world.attempts[who];
    (attempt.slow_grant, attempt.passed, attempt.asked_now) = (None, None, 0);
    world.registered.remove(who);
    world.came.remove(who);
}

/// How a release or cleanup is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    answered: bool,
    names: bool,
}

impl Leaving {
    pub(crate) const ANSWERED: Self = Self {
        answered: true,
        names: true,
    };
    pub(crate) const NAMING_NOBODY: Self = Self {
        answered: true,
        names: false,
    };
    pub(crate) const UNANSWERED: Self = Self {
        answered: false,
        names: true,
    };
}

/// Executes the release or cleanup. It names a waiter of its process, and the answer reports whether that waiter got
/// the lock.
pub(crate) fn leave(world: &mut World, setup: &Setup, who: usize, how: Leaving) {
    let attempt = world.attempts[who];
    let asked_for = attempt.naming.filter(|it| it.is_noted);
    let asked_for = asked_for.map_or(0, |it| it.left);
    let seal = if !setup.without(Weakening::SealUntilExpiry) {
        attempt.copies.max(asked_for)
    } else if attempt.noted > 0 {
        attempt.noted + setup.times.seal_margin
    } else {
        0
    };
    let named = named(world, setup, who).filter(|it| match it {
        Named::InLine(_) => how.names,
        // `parking` handles an unanswered release that names a parked waiter.
        Named::Parked(_) => how.names && how.answered,
    });
    let request = scripts::ReleaseRequest { seal, named };
    let passed = scripts::release(world, setup, who, request);
    if let (Some(named), true) = (named, how.answered) {
        let waiter = named.who();
        // A parked waiter now has the lock, or sends its own request.
        if matches!(named, Named::Parked(_)) {
            world.attempts[waiter].line = Line::Idle;
        }
        if let Some(token) = passed
            && world.attempts[waiter].phase == Phase::Trying
        {
            world.attempts[waiter].passed = Some(Pass { age: 0, token });
            setup.see(world, Reachable::PassedOn);
            if matches!(named, Named::Parked(_)) {
                setup.see(world, Reachable::PassedToParked);
            }
        }
    }
    if how.answered {
        world.end(who, Phase::Over);
    }
}

/// Returns the waiter that a release names: the first queued waiter of its process, or else a parked one.
fn named(world: &World, setup: &Setup, who: usize) -> Option<Named> {
    if let Some(in_line) = same_process_waiter(world, setup, who) {
        return Some(Named::InLine(in_line));
    }
    parking::parked(world, setup, who).map(Named::Parked)
}

/// Returns the first queued waiter of the process. Without registrations, this is the first one in the server's queue,
/// because naming another one has no effect.
fn same_process_waiter(world: &World, setup: &Setup, who: usize) -> Option<usize> {
    let line = if setup.is_prompt() {
        world.registered
    } else {
        world.server.queue
    };
    let same = |it: &usize| *it != who && setup.process(*it) == setup.process(who);
    let waits = |it: &usize| world.attempts[*it].phase == Phase::Trying;
    line.iter().filter(same).find(waits)
}

/// Accepts a direct hand-off. The lease counts from the release, and not from the arrival of its answer.
pub(crate) fn take_pass(world: &mut World, setup: &Setup, who: usize) {
    let Some(Pass { age, token }) = world.attempts[who].passed else {
        return;
    };
    let age = if setup.without(Weakening::PassAges) {
        0
    } else {
        age
    };
    let length = if setup.without(Weakening::PassLeaseOfGrant) {
        setup.times.ttl
    } else {
        setup.times.grant
    };
    if lease_left(setup, length, age) == 0 {
        // The waiter sends its own request instead.
        world.attempts[who].passed = None;
        return;
    }
    enter(world, setup, who, Grant { length, age, token });
}
