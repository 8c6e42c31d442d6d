//! What the nodes are asked.

use std::time::Duration;

use redis::Cmd;

use super::debts::Debt;
use super::script;
use crate::backend::redis::names::NodeNames;
use crate::backend::redis::times::{FENCE_TTL, WAITER_LEASE};
use crate::backend::redis::words::millis;
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
        let waiter = attempt.queue.then(|| attempt.owner.to_string());
        let acquire = script::ACQUIRE.call(
            &names.all(),
            &[
                &round.to_string(),
                &millis(attempt.ttl),
                &hint.to_string(),
                &CLAMP.as_micros().to_string(),
                &millis(FENCE_TTL),
                waiter.as_deref().unwrap_or_default(),
                &since.to_string(),
                channel,
                &millis(WAITER_LEASE),
            ],
        );
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
        script::RAISE.call(
            &self.names.all(),
            &[
                &self.round.to_string(),
                &token.to_string(),
                &millis(FENCE_TTL),
            ],
        )
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
        let waiter = debt.waiter.map(|waiter| waiter.to_string());
        let command = script::LEAVE.call(
            &NodeNames::of(&debt.key, debt.round).all(),
            &[
                &debt.round.to_string(),
                waiter.as_deref().unwrap_or_default(),
                &millis(WOKEN_LEASE),
                &millis(TURN),
            ],
        );
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
    script::EXTEND.call(
        &NodeNames::of(&claim.key, round).all(),
        &[
            &round.to_string(),
            &millis(claim.ttl),
            &claim.token.to_string(),
            &millis(FENCE_TTL),
        ],
    )
}

pub(super) fn force(key: &Key) -> Cmd {
    script::FORCE.call(
        &NodeNames::of(key, OwnerId::random()).all(),
        &[&millis(WOKEN_LEASE), &millis(TURN)],
    )
}

pub(super) fn inspect(key: &Key) -> Cmd {
    script::INSPECT.call(&NodeNames::of(key, OwnerId::random()).all(), &[])
}
