//! Checks whether a claim holds in a state.

use super::node::Flag;
use super::setup::Setup;
use super::world::{Mark, Phase, World};
use crate::claim::Claim;

pub(crate) fn holds(claim: Claim, setup: &Setup, world: &World) -> bool {
    match claim {
        Claim::Exclusion => {
            let is_valid = |who: &usize| {
                let round = &world.rounds[*who];
                round.phase == Phase::Holding && round.left > 0
            };
            setup.everyone().filter(is_valid).count() < 2
        }
        Claim::TokensDiffer => pairs(setup).all(|(a, b)| {
            let (a, b) = (&world.rounds[a], &world.rounds[b]);
            !a.granted || !b.granted || a.token != b.token
        }),
        Claim::TokensGrow => pairs(setup).all(|(earlier, later)| {
            let (a, b) = (&world.rounds[earlier], &world.rounds[later]);
            !b.granted || b.after & 1 << earlier == 0 || a.token < b.token
        }),
        Claim::Fenced => !world.has(Mark::StaleWrite),
        Claim::NoRevival => !world.has(Mark::Revived),
        Claim::NoGhost => setup.everyone().all(|who| {
            setup.everywhere().all(|at| {
                let node = &world.nodes[at];
                let is_released =
                    world.rounds[who].phase == Phase::Over || node.lines[who].has(Flag::Released);
                !is_released || !node.keys.is_held_by(who)
            })
        }),
        Claim::Backed
        | Claim::WaiterKept
        | Claim::NoStall
        | Claim::NoSpin
        | Claim::InOrder
        | Claim::OneOutcome
        | Claim::OutcomesGrow
        | Claim::NoSecondRun
        | Claim::ConfirmedRecorded => true,
    }
}

/// Returns all ordered pairs of two rounds.
fn pairs(setup: &Setup) -> impl Iterator<Item = (usize, usize)> + use<> {
    let all = setup.everyone();
    all.clone()
        .flat_map(move |a| all.clone().map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
}
