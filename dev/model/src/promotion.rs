//! A planned failover: another server becomes the primary with a copy of the state, and the old one continues until the
//! clients follow. `core/backends/redis/src/failover_release_replay.rs` repeats missed releases at the new primary.

use crate::action::Action;
use crate::attempt::{Line, Phase};
use crate::scripts::{self, ReleaseRequest};
use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::World;

pub(crate) fn actions(world: &World, out: &mut Vec<Action>) {
    if world.promoted.is_some() {
        out.push(Action::Follow);
    } else if world.budget.promotions > 0 {
        out.push(Action::Promote);
    }
}

pub(crate) fn promote(world: &mut World) {
    world.budget.promotions -= 1;
    world.promoted = Some(world.server);
}

/// Ends the connections to the old server. All its changes since the promotion are lost. Every waiter sends its request
/// again, and recent releases are repeated.
pub(crate) fn follow(world: &mut World, setup: &Setup) {
    let Some(promoted) = world.promoted.take() else {
        return;
    };
    world.server = promoted;
    for who in setup.everyone() {
        let attempt = &mut world.attempts[who];
        // Messages in flight reached the old server or were lost.
        (attempt.line, attempt.passed, attempt.copies) = (Line::Idle, None, 0);
        (attempt.hint, attempt.asked_now) = (attempt.phase == Phase::Trying, 0);
    }
    if setup.without(Weakening::ReleasesRepeated) {
        return;
    }
    for who in setup.everyone() {
        if world.attempts[who].phase == Phase::Over {
            let request = ReleaseRequest {
                seal: 0,
                named: None,
            };
            scripts::release(world, setup, who, request);
        }
    }
}
