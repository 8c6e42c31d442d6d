//! The world as a model for the model checker.

use std::num::NonZero;

use stateright::{Model, Property};

use super::action::Action;
use super::canonical_form::canonical_form;
use super::reachable::Reachable;
use super::setup::Setup;
use super::world::{Mark, World};
use super::{client, faults, judge, network, tick, trace_text};
use crate::claim::Claim;
use crate::macros::explorations;
use crate::search::{Explored, nearest, visit};
use crate::trace::Trace;

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
        vec![canonical_form(World::new(self.setup.budget), &self.setup)]
    }

    fn actions(&self, world: &World, out: &mut Vec<Action>) {
        for who in self.setup.everyone() {
            client::actions(world, &self.setup, who, out);
            network::actions(world, &self.setup, who, out);
        }
        faults::actions(world, &self.setup, out);
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
        self.claims.iter().filter_map(|&it| always(it)).collect()
    }
}

fn always(claim: Claim) -> Option<Property<Exploration>> {
    macro_rules! by_name {
        ($($claim:ident)*) => {
            match claim {
                $(Claim::$claim => |it: &Exploration, world: &World| {
                    judge::holds(Claim::$claim, &it.setup, world)
                },)*
                _ => return None,
            }
        };
    }
    let condition: fn(&Exploration, &World) -> bool =
        by_name!(Exclusion TokensDiffer TokensGrow Fenced NoRevival NoGhost);
    Some(Property::always(claim.name(), condition))
}

fn step(mut world: World, setup: &Setup, action: Action) -> World {
    let it = &mut world;
    match action {
        Action::Tick => tick::tick(it, setup, None),
        Action::TickUnnoticedBy(who) => tick::tick(it, setup, Some(who)),
        Action::Acquire {
            who,
            node,
            draw,
            heard,
        } => network::acquire(it, setup, (who, node), draw, heard),
        Action::AcquireAgain { who, node } => network::acquire_again(it, setup, (who, node)),
        Action::AcquireLate { .. } => setup.see(it, Reachable::LateCopyRefused),
        Action::Count { who, nodes } => client::count(it, setup, who, nodes),
        Action::CountLater { who, node } => client::count_later(it, setup, who, node),
        Action::Raise { who, node } => network::raise(it, setup, (who, node)),
        Action::Extend(who) => client::extend(it, setup, who),
        Action::ExtendAt { who, node } => network::extend(it, setup, (who, node)),
        Action::GiveUpExtension(who) => client::give_up_extension(it, setup, who),
        Action::Leave(who) => client::leave(it, who),
        Action::Release {
            who,
            node,
            answered,
        } => network::release(it, setup, (who, node), answered),
        Action::OldRelease { who, node } => network::old_release(it, setup, (who, node)),
        Action::Write(who) => client::write(it, setup, who),
        Action::Expire(node) => faults::expire(it, node),
        Action::Save(node) => faults::save(it, node),
        Action::Crash(node) => faults::crash(it, setup, node),
        Action::Return(node) => faults::come_back(it, setup, node),
        Action::Forget(node) => faults::forget(it, setup, node),
    }
    world
}

explorations!();
