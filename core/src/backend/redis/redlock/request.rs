//! What the nodes are asked.

use std::time::Duration;

use redis::Cmd;

use super::debts::Debt;
use super::script;
use crate::backend::redis::names::NodeNames;
use crate::backend::redis::times::{FENCE_TTL, WAITER_LEASE};
use crate::backend::redis::words::{micros, millis_of};
use crate::backend::{Attempt, Claim};
use crate::{Key, OwnerId};

/// By how much a token may be ahead of a node's clock at most, on a client's word.
pub(super) const CLAMP: Duration = Duration::from_secs(1);

/// How far a client's hint is ahead of its clock: further than honest clocks differ, so that all nodes answer the
/// hint.
pub(super) const AHEAD: Duration = Duration::from_millis(250);

/// How long a waiter that was woken keeps its place without asking again.
const WOKEN_LEASE: Duration = Duration::from_millis(500);

/// For how long a lock that is free is kept for the waiter that was woken.
const TURN: Duration = Duration::from_millis(100);

/// What a round asks of all nodes.
pub(super) struct Request {
    names: NodeNames,
    round: OwnerId,
    /// All but its last word.
    acquire: Cmd,
}

impl Request {
    /// `channel` is where a waiter is to be woken, and `since` when it began to wait.
    pub(super) fn new(
        attempt: &Attempt,
        round: OwnerId,
        channel: &str,
        hint: u64,
        since: u64,
    ) -> Self {
        let names = NodeNames::of(&attempt.key, round);
        let mut acquire = script::ACQUIRE.on(&names.all(), 10);
        acquire.arg(round.written(&mut OwnerId::paper()));
        acquire.arg(millis_of(attempt.ttl)).arg(hint);
        acquire.arg(micros(CLAMP)).arg(millis_of(FENCE_TTL));
        match attempt.queue {
            true => acquire.arg(attempt.owner.written(&mut OwnerId::paper())),
            false => acquire.arg(""),
        };
        acquire.arg(since).arg(channel).arg(millis_of(WAITER_LEASE));
        Self {
            names,
            round,
            acquire,
        }
    }

    /// `expiry` is the node's own time from which on it is to refuse this request.
    pub(super) fn acquire(&self, expiry: u64) -> Cmd {
        let mut command = self.acquire.clone();
        command.arg(expiry);
        command
    }

    pub(super) fn raise(&self, token: u64) -> Cmd {
        let mut raise = script::RAISE.on(&self.names.all(), 3);
        raise.arg(self.round.written(&mut OwnerId::paper()));
        raise.arg(token).arg(millis_of(FENCE_TTL));
        raise
    }
}

/// The end of a round, as all nodes are told.
pub(super) struct Leave {
    pub(super) debt: Debt,
    /// All but its last word.
    command: Cmd,
}

impl Leave {
    pub(super) fn new(debt: Debt) -> Self {
        let names = NodeNames::of(&debt.key, debt.round);
        let mut command = script::LEAVE.on(&names.all(), 5);
        command.arg(debt.round.written(&mut OwnerId::paper()));
        match debt.waiter {
            Some(waiter) => command.arg(waiter.written(&mut OwnerId::paper())),
            None => command.arg(""),
        };
        command.arg(millis_of(WOKEN_LEASE)).arg(millis_of(TURN));
        Self { debt, command }
    }

    /// `copies_until` is the node's own time until which requests of the round may still come.
    pub(super) fn command(&self, copies_until: u64) -> Cmd {
        let mut command = self.command.clone();
        command.arg(copies_until);
        command
    }
}

pub(super) fn extend(claim: &Claim, round: OwnerId) -> Cmd {
    let mut extend = script::EXTEND.on(&NodeNames::of(&claim.key, round).all(), 4);
    extend.arg(round.written(&mut OwnerId::paper()));
    extend.arg(millis_of(claim.ttl)).arg(claim.token.get());
    extend.arg(millis_of(FENCE_TTL));
    extend
}

pub(super) fn force(key: &Key) -> Cmd {
    let mut force = script::FORCE.on(&NodeNames::of(key, OwnerId::random()).all(), 2);
    force.arg(millis_of(WOKEN_LEASE)).arg(millis_of(TURN));
    force
}

pub(super) fn inspect(key: &Key) -> Cmd {
    script::INSPECT.on(&NodeNames::of(key, OwnerId::random()).all(), 0)
}
