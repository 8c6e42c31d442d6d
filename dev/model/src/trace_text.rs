//! Describes the steps of a world as text.

use std::fmt;

use crate::action::Action;
use crate::attempt::Line;
use crate::server::{FOR_EVER, Holder};
use crate::setup::Setup;
use crate::trace::{Step, Trace};
use crate::world::World;

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
    match action {
        Action::Tick => "a tick passes".to_owned(),
        Action::TickUnnoticedBy(who) => format!("a tick passes, and {} does not notice", name(who)),
        Action::Ask(who) => format!("{} sends an acquire", name(who)),
        Action::Arrive(who) => {
            let (what, outcome) = arrival(before.attempts[who].line, after.attempts[who].line);
            format!("{}'s {what} is carried out: {outcome}", name(who))
        }
        Action::Answer(who) => {
            format!("{} has its answer{}", name(who), taken(before, after, who))
        }
        Action::TimeOut(who) => format!("{} gives up waiting for its answer", name(who)),
        Action::LateAsk(who) => {
            format!(
                "a copy of {}'s acquire comes late and is carried out",
                name(who)
            )
        }
        Action::LateRenewal(who) => {
            format!(
                "a copy of {}'s renewal comes late and is carried out",
                name(who)
            )
        }
        Action::SlowGrant(who) => format!(
            "{} has the answer to its earlier acquire: a guard",
            name(who)
        ),
        Action::GuardFromHint(who) => format!("{} is woken and makes a guard", name(who)),
        Action::TakePass(who) => format!(
            "{} has what was passed on to it{}",
            name(who),
            taken(before, after, who)
        ),
        Action::Cancel(who) => format!("{}'s caller drops its acquire", name(who)),
        Action::Renew(who) => format!("{} sends a renewal", name(who)),
        Action::Record(who) => format!("{} sends its outcome", name(who)),
        Action::LateRecord(who) => {
            format!("an unanswered record of {} is carried out", name(who))
        }
        Action::Release(who) => format!("{} gives its guard up", name(who)),
        Action::Leave(who) => format!(
            "{}'s release or cleanup is carried out and answered",
            name(who)
        ),
        Action::LeaveNamingNobody(who) => format!(
            "{}'s release or cleanup, which names nobody, is carried out and answered",
            name(who)
        ),
        Action::LeaveUnanswered(who) => {
            format!(
                "{}'s release or cleanup is carried out, unanswered",
                name(who)
            )
        }
        Action::Park(who) => format!("{} waits for a release of its process", name(who)),
        Action::Unpark(who) => format!("{} waits no longer, and is to ask", name(who)),
        Action::LeaveForUnheard(who) => format!(
            "{} sends a release that asks on behalf of another",
            name(who)
        ),
        Action::LateLeaveFor(who) => format!(
            "a release that asks on behalf of {} is carried out, unanswered",
            name(who)
        ),
        Action::Batch { leaver, asker } => format!(
            "{}'s release or cleanup and then {}'s acquire are carried out in one call",
            name(leaver),
            name(asker)
        ),
        Action::BatchUnanswered { leaver, asker } => format!(
            "{}'s release or cleanup and then {}'s acquire are carried out in one call, unanswered",
            name(leaver),
            name(asker)
        ),
        Action::Write(who) => format!("{} writes to the resource", name(who)),
        Action::Die(who) => format!("{}'s task dies; its process lives", name(who)),
        Action::ProcessDies(process) => format!("process {} dies", process + 1),
        Action::Disconnect(process) => format!("process {} loses its connection", process + 1),
        Action::Reconnect(process) => {
            format!("process {} connects again, and all look", process + 1)
        }
        Action::LoseHint(who) => format!("{}'s wake-up is lost", name(who)),
        Action::ForeignTakes => "a foreign program takes the lock".to_owned(),
        Action::ForeignReleases => "the foreign program deletes its lock".to_owned(),
        Action::ForeignDeletes => "somebody deletes the lock's key".to_owned(),
        Action::ForeignOverwrites => "somebody overwrites the lock's key, without a TTL".to_owned(),
        Action::Force => "an operator forces the lock open".to_owned(),
        Action::MemoryLoss => "the server forgets everything".to_owned(),
        Action::Promote => {
            "another server becomes the primary; the old one goes on serving".to_owned()
        }
        Action::Follow => "the clients follow to the new primary".to_owned(),
    }
}

fn arrival(before: Line, after: Line) -> (&'static str, &'static str) {
    let what = match before {
        Line::Renewing { .. } => "renewal",
        Line::Recording => "record",
        _ => "acquire",
    };
    let outcome = match after {
        Line::Granted { .. } => "granted",
        Line::Busy { .. } => "busy",
        Line::Late { .. } => "too late",
        Line::Extended { .. } => "extended",
        Line::Found { .. } => "it finds an outcome",
        Line::Recorded { accepted: true } => "accepted",
        Line::Recorded { accepted: false } => "refused",
        _ => "gone",
    };
    (what, outcome)
}

fn taken(before: &World, after: &World, who: usize) -> &'static str {
    let (was, is) = (before.attempts[who].holds(), after.attempts[who].holds());
    match (was, is) {
        (false, true) => ": a guard",
        (true, false) => ": the guard is lost",
        _ => "",
    }
}

/// Describes the state of a world, as far as it helps to read a trace.
struct StateText<'a> {
    setup: &'a Setup,
    world: &'a World,
}

impl fmt::Display for StateText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.world.server;
        match server.holder {
            Holder::Nobody => write!(f, "free")?,
            Holder::Foreign if server.left == FOR_EVER => write!(f, "foreign, no TTL")?,
            Holder::Foreign => write!(f, "foreign for {}", server.left)?,
            Holder::Attempt(who) => write!(f, "{}'s for {}", NAMES[usize::from(who)], server.left)?,
        }
        for waiter in server.queue.iter() {
            write!(f, "; {} waits ({})", NAMES[waiter], server.places[waiter])?;
        }
        for who in self.setup.everyone() {
            let attempt = &self.world.attempts[who];
            if attempt.holds() {
                let (left, token) = (attempt.left, attempt.token);
                write!(f, "; {} has guard {token} for {left}", NAMES[who])?;
            }
        }
        if server.outcome > 0 {
            let (outcome, kept) = (server.outcome, server.kept);
            write!(f, "; outcome {outcome} kept for {kept}")?;
        }
        if self.world.idle > 0 {
            let (idle, allowance) = (self.world.idle, self.world.allowance);
            write!(f, "; idle for {idle} of {allowance}")?;
        }
        Ok(())
    }
}
