//! Time.

use crate::action::Action;
use crate::attempt::{Line, Naming, Phase};
use crate::claim::Reachable;
use crate::recheck::is_due;
use crate::server::{FOR_EVER, Holder};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    if setup.is_prompt() && setup.everyone().any(|who| is_urgent(world, setup, who)) {
        return;
    }
    out.push(Action::Tick);
    if world.budget.lags > 0 {
        let counts = |who: &usize| world.attempts[*who].phase != Phase::New;
        out.extend(setup.everyone().filter(counts).map(Action::TickUnnoticedBy));
    }
}

/// Returns whether a message of this attempt is in flight, or its client has something to do.
fn is_urgent(world: &World, setup: &Setup, who: usize) -> bool {
    let attempt = &world.attempts[who];
    match attempt.phase {
        Phase::New | Phase::Over | Phase::Dead => false,
        Phase::Trying => {
            attempt.line != Line::Idle || attempt.passed.is_some() || is_due(world, who)
        }
        // Leases are renewed in time, and lost locks are released.
        Phase::Holding => attempt.line != Line::Idle || attempt.left < setup.times.ttl,
        Phase::Leaving => true,
    }
}

/// Lets one tick pass. The clock of `laggard` stands still.
pub(crate) fn tick(world: &mut World, setup: &Setup, laggard: Option<usize>) {
    world.server.age();
    if let Some(promoted) = &mut world.promoted {
        promoted.age();
    }
    let expires = !setup.without(Weakening::Expiry);
    for who in setup.everyone() {
        let attempt = &mut world.attempts[who];
        attempt.asked_now = 0;
        if expires {
            attempt.copies = attempt.copies.saturating_sub(1);
            let naming = attempt.naming.map(|it| Naming {
                left: it.left - 1,
                ..it
            });
            attempt.naming = naming.filter(|it| it.left > 0);
        }
        if laggard != Some(who) {
            attempt.noted = attempt.noted.saturating_sub(1);
            attempt.left = attempt.left.saturating_sub(1);
            if attempt.recheck != u8::MAX {
                attempt.recheck = attempt.recheck.saturating_sub(1);
            }
            // Ages above the longest of these durations are not distinguished.
            let oldest = setup.times.ttl.max(setup.times.allowed + setup.times.news);
            let ages = [
                attempt.line.age_mut(),
                attempt.passed.as_mut().map(|pass| &mut pass.age),
            ];
            for age in ages.into_iter().flatten() {
                *age = (*age + 1).min(oldest);
            }
        }
    }
    if laggard.is_some() {
        world.budget.lags -= 1;
    }
    if setup.is_prompt() {
        count_idleness(world, setup);
    }
}

/// Counts how long the lock has been without a living holder while a waiter with notifications waits.
fn count_idleness(world: &mut World, setup: &Setup) {
    let somebody_waits = world.came.iter().any(|who| {
        world.attempts[who].phase == Phase::Trying && world.deaf & setup.process(who) == 0
    });
    // A foreign program that sets no TTL has crashed between two commands.
    let foreign = world.server.holder == Holder::Foreign && world.server.left != FOR_EVER;
    let ours = world.attempts.iter().any(|it| it.phase == Phase::Holding);
    if !somebody_waits || foreign || ours {
        world.idle = 0;
        return;
    }
    // Larger values than the allowance are not distinguished.
    world.idle = (world.idle + 1).min(world.allowance + 1);
    if world.idle == world.allowance {
        setup.see(world, Reachable::LongestStall);
    }
}
