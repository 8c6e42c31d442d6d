//! Checks whether a claim holds in a state.

use crate::attempt::{Line, Phase};
use crate::claim::Claim;
use crate::recheck::ASKS_AT_ONCE;
use crate::server::Holder;
use crate::setup::Setup;
use crate::world::{Mark, World};

pub(crate) fn holds(claim: Claim, setup: &Setup, world: &World) -> bool {
    match claim {
        Claim::Exclusion => {
            let guards = world.attempts.iter().filter(|it| it.holds()).count();
            let foreign = usize::from(world.server.holder == Holder::Foreign);
            guards + foreign < 2
        }
        Claim::Backed => setup.everyone().all(|who| {
            let attempt = &world.attempts[who];
            let server = &world.server;
            let drew = server.was_drawn_by(who) && server.token == attempt.token;
            !attempt.holds() || server.is_held_by(who) && drew
        }),
        Claim::TokensDiffer => pairs(setup).all(|(a, b)| {
            let (a, b) = (world.attempts[a].token, world.attempts[b].token);
            a == 0 || a != b
        }),
        Claim::TokensGrow => pairs(setup).all(|(earlier, later)| {
            let began_after = world.attempts[later].after & 1 << earlier != 0;
            let (earlier, later) = (world.attempts[earlier].token, world.attempts[later].token);
            !began_after || later == 0 || earlier < later
        }),
        Claim::Fenced => !world.has(Mark::StaleWrite),
        Claim::NoRevival => !world.has(Mark::Revived),
        Claim::NoGhost => setup.everyone().all(|who| {
            let traces = world.server.is_held_by(who) || world.server.queue.contains(who);
            world.attempts[who].phase != Phase::Over || !traces
        }),
        Claim::WaiterKept => setup.everyone().all(|who| {
            let attempt = &world.attempts[who];
            attempt.phase != Phase::Trying
                || attempt.line != Line::Idle
                || world.server.is_held_by(who)
                || world.server.has_live_place(who)
                || attempt.recheck <= setup.times.refresh
        }),
        Claim::NoStall => world.idle <= world.allowance,
        Claim::NoSpin => world.attempts.iter().all(|it| it.asked_now <= ASKS_AT_ONCE),
        Claim::InOrder => !world.has(Mark::Barged),
        Claim::OneOutcome => !world.has(Mark::SecondOutcome),
        Claim::OutcomesGrow => !world.has(Mark::OlderOutcome),
        Claim::NoSecondRun => !world.has(Mark::RunAgain),
        Claim::ConfirmedRecorded => !world.has(Mark::ConfirmedWrongly),
    }
}

/// Returns all ordered pairs of two attempts.
fn pairs(setup: &Setup) -> impl Iterator<Item = (usize, usize)> + use<> {
    let all = setup.everyone();
    all.clone()
        .flat_map(move |a| all.clone().map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
}
