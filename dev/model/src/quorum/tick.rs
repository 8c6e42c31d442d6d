//! Time.

use super::action::Action;
use super::faults::{ticks_away, ticks_idle};
use super::setup::Setup;
use super::world::{Phase, World};

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    if !setup.has_time() {
        return;
    }
    out.push(Action::Tick);
    if world.budget.lags > 0 {
        let counts = |who: &usize| world.rounds[*who].phase != Phase::New;
        out.extend(setup.everyone().filter(counts).map(Action::TickUnnoticedBy));
    }
}

/// Lets one tick pass. The clock of `laggard` stands still.
pub(crate) fn tick(world: &mut World, setup: &Setup, laggard: Option<usize>) {
    world.now += 1;
    if laggard.is_some() {
        world.budget.lags -= 1;
    }
    for node in &mut world.nodes {
        node.keys.age();
        if let Some(saved) = &mut node.saved {
            saved.age();
        }
        if setup.times.idle > 0 {
            node.idle = (node.idle + 1).min(ticks_idle(setup));
        }
        if !node.serves() {
            node.away = (node.away + 1).min(ticks_away(setup) + 1);
        }
    }
    for (who, round) in world.rounds.iter_mut().enumerate() {
        round.life = round.life.saturating_sub(1);
        if laggard != Some(who) {
            round.left = round.left.saturating_sub(1);
            round.extends_to = round.extends_to.saturating_sub(1);
        }
    }
}
