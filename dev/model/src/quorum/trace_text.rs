//! Describes the steps of a world as text.

use std::fmt;

use super::action::Action;
use super::node::NOBODY;
use super::setup::Setup;
use super::world::{Phase, World};
use crate::trace::{Step, Trace};

const NAMES: [&str; 3] = ["A", "B", "C"];

/// Describes a path through a world.
pub(crate) fn describe(setup: &Setup, way: &[(World, Option<Action>)]) -> Trace {
    Trace::of(way, |before, action, after| Step {
        what: words(action, before, after),
        then: StateText {
            setup,
            world: after,
        }
        .to_string(),
    })
}

fn words(action: Action, before: &World, after: &World) -> String {
    let name = |who: usize| NAMES[who];
    let at = |node: usize| format!("n{}", node + 1);
    match action {
        Action::Tick => "a tick passes".to_owned(),
        Action::TickUnnoticedBy(who) => format!("a tick passes, and {} does not notice", name(who)),
        Action::Acquire {
            who, node, heard, ..
        } => {
            let token = after.nodes[node].keys.counter;
            let heard = if heard { "" } else { ", unheard" };
            let begins = match before.rounds[who].phase {
                Phase::New => format!("{} begins; ", name(who)),
                _ => String::new(),
            };
            format!(
                "{begins}{} grants {} with {token}{heard}",
                at(node),
                name(who)
            )
        }
        Action::AcquireAgain { who, node } => {
            format!("{} grants {} again", at(node), name(who))
        }
        Action::AcquireLate { who, node } => {
            format!("{} refuses {}'s late acquire", at(node), name(who))
        }
        Action::Count { who, nodes } => {
            let nodes: Vec<String> = (0..8).filter(|it| nodes & 1 << it != 0).map(at).collect();
            let outcome = outcome(before, after, who);
            format!("{} has heard {}{outcome}", name(who), nodes.join(", "))
        }
        Action::CountLater { who, node } => {
            let outcome = outcome(before, after, who);
            format!("{} hears {} late{outcome}", name(who), at(node))
        }
        Action::Raise { who, node } => {
            let old = before.nodes[node].keys.counter;
            let new = after.nodes[node].keys.counter;
            let outcome = outcome(before, after, who);
            if old == new {
                format!("{}'s raise comes to {}{outcome}", name(who), at(node))
            } else {
                format!("{} raises {}{outcome}", name(who), at(node))
            }
        }
        Action::Extend(who) => format!("{} sends an extension to all nodes", name(who)),
        Action::ExtendAt { who, node } => {
            format!("{}'s extension comes to {}", name(who), at(node))
        }
        Action::GiveUpExtension(who) => format!("{} gives up its extension", name(who)),
        Action::Leave(who) => format!("{} gives up, or releases", name(who)),
        Action::Release {
            who,
            node,
            answered,
        } => {
            let answered = if answered { "" } else { ", unanswered" };
            format!("{}'s release comes to {}{answered}", name(who), at(node))
        }
        Action::OldRelease { who, node } => {
            format!("{}'s earlier release comes to {}", name(who), at(node))
        }
        Action::Write(who) => format!("{} writes to the resource", name(who)),
        Action::Expire(node) => format!("the lock on {} expires, or is deleted", at(node)),
        Action::Save(node) => format!("{} saves its state", at(node)),
        Action::Crash(node) => format!("{} goes down", at(node)),
        Action::Return(node) => format!("{} is back and votes", at(node)),
        Action::Forget(node) => format!("the counter of {} expires", at(node)),
    }
}

fn outcome(before: &World, after: &World, who: usize) -> String {
    let (was, is) = (&before.rounds[who], &after.rounds[who]);
    if !was.granted && is.granted {
        format!(": a guard, token {}", is.token)
    } else if was.phase != is.phase && is.phase == Phase::Raising {
        format!(": token {}", is.token)
    } else {
        String::new()
    }
}

/// Describes the state of a world, as far as it helps to read a trace.
struct StateText<'a> {
    setup: &'a Setup,
    world: &'a World,
}

impl fmt::Display for StateText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.world.nodes[..self.setup.nodes] {
            let keys = &node.keys;
            let holder = match keys.holder {
                NOBODY => "-",
                who => NAMES[usize::from(who) - 1],
            };
            if !node.serves() {
                write!(f, "[away {}] ", node.away - 1)?;
            } else if keys.left > 0 {
                write!(f, "[{holder} {} for {}] ", keys.counter, keys.left)?;
            } else {
                write!(f, "[{holder} {}] ", keys.counter)?;
            }
        }
        for who in self.setup.everyone() {
            let round = &self.world.rounds[who];
            let name = NAMES[who];
            match round.phase {
                Phase::Raising => write!(f, "{name} raises to {}; ", round.token)?,
                Phase::Holding if !self.setup.has_validity() => {
                    write!(f, "{name} has token {}; ", round.token)?;
                }
                Phase::Holding if round.left > 0 => {
                    write!(f, "{name} has token {} for {}; ", round.token, round.left)?;
                }
                _ => {}
            }
        }
        if self.world.now > 0 {
            write!(f, "time {}", self.world.now)?;
        }
        Ok(())
    }
}
