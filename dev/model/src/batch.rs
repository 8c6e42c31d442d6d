//! A release or cleanup and an acquire in one call: `batch.lua`. The release comes first.

use crate::action::Action;
use crate::attempt::{Line, Phase};
use crate::claim::Reachable;
use crate::client::{self, Leaving};
use crate::network;
use crate::server::Holder;
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    if !setup.batches {
        return;
    }
    for leaver in setup.everyone() {
        if world.attempts[leaver].phase != Phase::Leaving {
            continue;
        }
        for asker in setup.everyone() {
            let same = setup.process(asker) == setup.process(leaver);
            // A timed-out acquire may be in the same call as its cleanup.
            let asks = match asker == leaver {
                true => world.attempts[asker].copies > 0,
                false => matches!(world.attempts[asker].line, Line::Asked { .. }),
            };
            if same && asks {
                out.push(Action::Batch { leaver, asker });
                if setup.faults.late_copies {
                    out.push(Action::BatchUnanswered { leaver, asker });
                }
            }
        }
    }
}

pub(crate) fn answered(world: &mut World, setup: &Setup, leaver: usize, asker: usize) {
    carry_out(world, setup, leaver, asker, Leaving::ANSWERED);
}

pub(crate) fn unanswered(world: &mut World, setup: &Setup, leaver: usize, asker: usize) {
    carry_out(world, setup, leaver, asker, Leaving::UNANSWERED);
    if asker != leaver {
        client::time_out(world, setup, asker);
    }
}

fn carry_out(world: &mut World, setup: &Setup, leaver: usize, asker: usize, how: Leaving) {
    let before = world.server;
    client::leave(world, setup, leaver, how);
    // `batch.lua` reads everything before its first write, so it must read again what the release has changed.
    let was_free = before.holder == Holder::Nobody && before.token > 0 && before.seals[asker] == 0;
    let is_free = world.server.holder == Holder::Nobody && world.server.queue.first().is_none();
    let is_stale = setup.without(Weakening::BatchReadsAgain) && was_free && is_free;
    let seal = world.server.seals[asker];
    if is_stale {
        world.server.seals[asker] = 0;
    }
    if asker == leaver {
        network::late_ask(world, setup, asker);
    } else {
        setup.see(world, Reachable::Together);
        network::arrive(world, setup, asker);
    }
    if is_stale {
        world.server.seals[asker] = seal;
    }
}
