//! Decides what happens to a message.

use std::time::Duration;

use tokio::time::Instant;

use super::chaos::{ChaosPlan, Dice, Mishap};
use super::expected::{Exchange, Kind, Then};
use super::gate::{Due, Ticket};
use super::rules::{Fault, Rules, Traffic};
use super::shared::Shared;
use crate::resp::Command;

/// Decides for one direction of a connection.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    shared: &'a Shared,
    /// The number of this stream, for random faults.
    stream: u64,
    dice: Option<Dice>,
    /// The hold that holds back all further messages.
    held_by: Option<usize>,
    /// Whether a message was lost, so that nothing can follow.
    pub(super) mute: bool,
}

/// What happens to a message.
#[derive(Debug)]
pub(super) enum Ruling {
    Forward(Parcel),
    /// The message is forwarded, and then its connection is cut.
    ForwardAndCut(Parcel),
    Vanish,
    /// The message is lost, and its connection is cut.
    Cut,
}

/// When a message is forwarded, and the fate of its reply.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) due: Due,
    pub(super) then: Then,
    pub(super) ticket: Option<Ticket>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(shared: &'a Shared, stream: u64) -> Self {
        Self {
            shared,
            stream,
            dice: None,
            held_by: None,
            mute: false,
        }
    }

    pub(super) fn request(&mut self, command: &Command) -> Ruling {
        let mut rules = self.shared.rules.lock();
        let ruling = self.rule_request(&mut rules, command);
        drop(rules);
        let lost = matches!(ruling, Ruling::Vanish | Ruling::Cut);
        self.shared.count(|stats| {
            stats.requests += 1;
            stats.lost_requests += u64::from(lost);
        });
        ruling
    }

    fn rule_request(&mut self, rules: &mut Rules, command: &Command) -> Ruling {
        let mishap = self.throw(rules, Dice::mishap).flatten();
        let Some(mut due) = self.due(rules, rules.to_server) else {
            return Ruling::Vanish;
        };
        let fault = rules.fault(command);
        let mut then = Then::Forward;
        match fault {
            Some(Fault::CutBefore) => return Ruling::Cut,
            Some(Fault::CutAfter) => then = Then::Cut,
            Some(Fault::LoseReply) => then = Then::Lose,
            Some(Fault::Hold) => due = self.hold(),
            None => {}
        }
        let mut orphan = false;
        match mishap {
            Some(Mishap::CutBefore) => return Ruling::Cut,
            Some(Mishap::CutAfter) => then = Then::Cut,
            Some(Mishap::LoseReply) => then = Then::Lose,
            Some(Mishap::Orphan(late)) => {
                orphan = true;
                if let Due::At(moment) = &mut due {
                    *moment += late;
                }
            }
            None => {}
        }
        let parcel = self.parcel(due, then);
        match orphan {
            true => Ruling::ForwardAndCut(parcel),
            false => Ruling::Forward(parcel),
        }
    }

    /// Decides for a message of the server. For a reply, `exchange` contains the plan.
    pub(super) fn reply(&mut self, kind: Kind, exchange: &Exchange) -> Ruling {
        let mut rules = self.shared.rules.lock();
        let ruling = self.rule_reply(&mut rules, kind, exchange.then);
        drop(rules);
        let lost = u64::from(matches!(ruling, Ruling::Vanish | Ruling::Cut));
        self.shared.count(|stats| {
            if kind == Kind::Push {
                stats.pushes += 1;
                stats.lost_pushes += lost;
            } else {
                stats.replies += 1;
                stats.lost_replies += lost;
            }
        });
        ruling
    }

    fn rule_reply(&mut self, rules: &mut Rules, kind: Kind, then: Then) -> Ruling {
        if kind == Kind::Push && rules.loses_push() {
            return Ruling::Vanish;
        }
        match (self.due(rules, rules.to_client), then) {
            (Some(due), Then::Forward) => Ruling::Forward(self.parcel(due, then)),
            (_, Then::Cut) => Ruling::Cut,
            (_, Then::Forward | Then::Lose) => {
                self.mute = true;
                Ruling::Vanish
            }
        }
    }

    /// Returns when the end of the stream is forwarded, or `None` if it is lost.
    pub(super) fn end(&mut self, to_server: bool) -> Option<Due> {
        let rules = self.shared.rules.lock();
        let traffic = match to_server {
            true => rules.to_server,
            false => rules.to_client,
        };
        self.due(&rules, traffic)
    }

    /// Returns when a message is forwarded, or `None` if it and all later messages are lost.
    fn due(&mut self, rules: &Rules, traffic: Traffic) -> Option<Due> {
        let chance = self.throw(rules, Dice::delay);
        let delay = match traffic {
            Traffic::Pass | Traffic::Hold => Duration::ZERO,
            Traffic::Delay(delay) => delay,
            Traffic::Drop => {
                self.mute = true;
                Duration::ZERO
            }
        };
        // Each connection has two streams.
        if self.mute || self.shared.is_silent(self.stream / 2) {
            return None;
        }
        let hold = self.shared.gate.hold();
        if traffic == Traffic::Hold || self.held_by == Some(hold) {
            return Some(self.hold());
        }
        Some(Due::At(Instant::now() + delay + chance.unwrap_or_default()))
    }

    fn hold(&mut self) -> Due {
        let hold = self.shared.gate.hold();
        self.held_by = Some(hold);
        Due::AfterHold(hold)
    }

    fn parcel(&self, due: Due, then: Then) -> Parcel {
        let held = matches!(due, Due::AfterHold(_));
        Parcel {
            due,
            then,
            ticket: held.then(|| self.shared.ticket()),
        }
    }

    fn throw<T>(
        &mut self,
        rules: &Rules,
        what: impl FnOnce(&mut Dice, &ChaosPlan) -> T,
    ) -> Option<T> {
        let (seed, plan) = rules.chaos?;
        let stream = self.stream;
        let fits = self.dice.take().filter(|dice| dice.is_of(seed));
        let dice = self
            .dice
            .insert(fits.unwrap_or_else(|| Dice::new(seed, stream)));
        Some(what(dice, &plan))
    }
}
