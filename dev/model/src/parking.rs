//! Attempts that are parked until a release of their process requests the lock for them: `Parked` and `Named` of
//! `core/backends/redis/src/wait/local_queue.rs`.

use crate::action::Action;
use crate::attempt::{Line, Naming, Phase};
use crate::scripts::{self, Named, ReleaseRequest};
use crate::server::id;
use crate::setup::Setup;
use crate::world::World;

pub(crate) fn actions(world: &World, setup: &Setup, out: &mut Vec<Action>) {
    if !setup.parks {
        return;
    }
    for who in setup.everyone() {
        let attempt = &world.attempts[who];
        let has_holder = || {
            let same = |it: &usize| setup.process(*it) == setup.process(who);
            let holds = |it: usize| world.attempts[it].phase == Phase::Holding;
            setup.everyone().filter(same).any(holds)
        };
        if attempt.phase == Phase::New && has_holder() {
            out.push(Action::Park(who));
        }
        if attempt.line == Line::Parked {
            out.push(Action::Unpark(who));
        }
        if attempt.phase == Phase::Leaving
            && setup.faults.late_copies
            && parked(world, setup, who).is_some()
        {
            out.push(Action::LeaveForUnheard(who));
        }
        if attempt.naming.is_some() {
            out.push(Action::LateLeaveFor(who));
        }
    }
}

pub(crate) fn park(world: &mut World, who: usize) {
    world.attempts[who].after = world.granted();
    world.attempts[who].phase = Phase::Trying;
    world.attempts[who].line = Line::Parked;
}

/// Returns the parked waiter that a release names, if its owner holds the lock and no duplicate of the owner's requests
/// may arrive.
pub(crate) fn parked(world: &World, setup: &Setup, who: usize) -> Option<usize> {
    let is_one = |it: &usize| {
        setup.process(*it) == setup.process(who) && world.attempts[*it].line == Line::Parked
    };
    let nothing_may_come = world.attempts[who].copies == 0;
    let parked = || setup.everyone().find(is_one);
    nothing_may_come.then(parked).flatten()
}

/// Sends a release whose answer will be lost.
pub(crate) fn leave_unheard(world: &mut World, setup: &Setup, who: usize) {
    if let Some(named) = parked(world, setup, who) {
        world.attempts[named].line = Line::AskedFor { age: 0 };
        world.attempts[named].naming = Some(Naming {
            by: id(who),
            left: setup.times.allowed + setup.times.news,
            is_noted: false,
        });
    }
}

/// Executes such a release, even if it arrives much later.
pub(crate) fn late_leave(world: &mut World, setup: &Setup, named: usize) {
    if let Some(naming) = world.attempts[named].naming {
        let left = ReleaseRequest {
            seal: 0,
            named: Some(Named::Parked(named)),
        };
        scripts::release(world, setup, usize::from(naming.by), left);
    }
}
