//! The world as a model for the model checker.

use std::num::NonZero;

use stateright::{Model, Property};

use crate::action::Action;
use crate::attempt::Line;
use crate::canonical_form::canonical_form;
use crate::claim::{Claim, Reachable};
use crate::client::Leaving;
use crate::macros::explorations;
use crate::search::{Explored, nearest, visit};
use crate::setup::Setup;
use crate::trace::Trace;
use crate::world::{Mark, World};
use crate::{
    batch, client, faults, judge, network, parking, promotion, resource, scripts, tick, trace_text,
};

/// The subject of one run.
#[derive(Debug, Clone)]
struct Exploration {
    setup: Setup,
    claims: Vec<Claim>,
}

const REACHABLE: &str = "reachable";

impl Model for Exploration {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.setup.budget)]
    }

    fn actions(&self, world: &World, out: &mut Vec<Action>) {
        for who in self.setup.everyone() {
            client::actions(world, &self.setup, who, out);
            network::actions(world, &self.setup, who, out);
        }
        faults::actions(world, &self.setup, out);
        promotion::actions(world, out);
        parking::actions(world, &self.setup, out);
        batch::actions(world, &self.setup, out);
        tick::actions(world, &self.setup, out);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let after = canonical_form(step(*world, &self.setup, action), &self.setup);
        (after != *world).then_some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        if self.setup.looks_for.is_some() {
            let seen = |_: &Self, world: &World| world.has(Mark::Reachable);
            return vec![Property::sometimes(REACHABLE, seen)];
        }
        self.claims.iter().map(|&claim| always(claim)).collect()
    }
}

fn always(claim: Claim) -> Property<Exploration> {
    macro_rules! by_name {
        ($($claim:ident)*) => {
            match claim {
                $(Claim::$claim => |it: &Exploration, world: &World| {
                    judge::holds(Claim::$claim, &it.setup, world)
                },)*
            }
        };
    }
    let condition: fn(&Exploration, &World) -> bool = by_name!(
        Exclusion Backed TokensDiffer TokensGrow Fenced NoRevival NoGhost WaiterKept NoStall NoSpin InOrder
        OneOutcome OutcomesGrow NoSecondRun ConfirmedRecorded
    );
    Property::always(claim.name(), condition)
}

fn step(mut world: World, setup: &Setup, action: Action) -> World {
    let it = &mut world;
    match action {
        Action::Tick => tick::tick(it, setup, None),
        Action::TickUnnoticedBy(who) => tick::tick(it, setup, Some(who)),
        Action::Ask(who) => client::ask(it, setup, who),
        Action::Park(who) => parking::park(it, who),
        Action::Unpark(who) => it.attempts[who].line = Line::Idle,
        Action::Arrive(who) => network::arrive(it, setup, who),
        Action::Answer(who) => client::answer(it, setup, who),
        Action::TimeOut(who) => client::time_out(it, setup, who),
        Action::LateAsk(who) => network::late_ask(it, setup, who),
        Action::LateRenewal(who) => network::late_renewal(it, setup, who),
        Action::SlowGrant(who) => client::slow_grant(it, setup, who),
        Action::GuardFromHint(who) => client::guard_from_hint(it, setup, who),
        Action::Cancel(who) | Action::Release(who) => client::leave_off(it, setup, who),
        Action::Renew(who) => client::renew(it, who),
        Action::Record(who) => it.attempts[who].line = Line::Recording,
        Action::LateRecord(who) => network::late_record(it, setup, who),
        Action::TakePass(who) => client::take_pass(it, setup, who),
        Action::Leave(who) => client::leave(it, setup, who, Leaving::ANSWERED),
        Action::LeaveNamingNobody(who) => client::leave(it, setup, who, Leaving::NAMING_NOBODY),
        Action::LeaveUnanswered(who) => client::leave(it, setup, who, Leaving::UNANSWERED),
        Action::LeaveForUnheard(who) => parking::leave_unheard(it, setup, who),
        Action::LateLeaveFor(who) => parking::late_leave(it, setup, who),
        Action::Batch { leaver, asker } => batch::answered(it, setup, leaver, asker),
        Action::BatchUnanswered { leaver, asker } => batch::unanswered(it, setup, leaver, asker),
        Action::Write(who) => resource::write(it, setup, who),
        Action::Die(who) => faults::die(it, setup, who),
        Action::ProcessDies(process) => faults::process_dies(it, setup, process),
        Action::Disconnect(process) => faults::disconnect(it, setup, process),
        Action::Reconnect(process) => faults::reconnect(it, setup, process),
        Action::LoseHint(who) => faults::lose_hint(it, setup, who),
        Action::ForeignTakes => faults::foreign_takes(it, setup),
        Action::ForeignReleases => it.server.delete_lock(),
        Action::ForeignDeletes => faults::foreign_deletes(it, setup),
        Action::ForeignOverwrites => faults::foreign_overwrites(it, setup),
        Action::Force => scripts::force_release(it, setup),
        Action::MemoryLoss => faults::memory_loss(it),
        Action::Promote => promotion::promote(it),
        Action::Follow => promotion::follow(it, setup),
    }
    world
}

explorations!();
