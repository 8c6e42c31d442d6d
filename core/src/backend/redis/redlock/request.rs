//! What the nodes are asked.

use std::sync::Arc;
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

/// What a round asks of all nodes alike.
#[derive(Debug)]
pub(super) struct Request {
    names: NodeNames,
    round: OwnerId,
    /// Where the waiter is to be woken.
    channel: Arc<str>,
    ttl_ms: String,
    hint: String,
    /// Who takes a place in line where the lock is busy, and since when it waits.
    waiter: String,
    since: String,
}

impl Request {
    pub(super) fn new(
        attempt: &Attempt,
        round: OwnerId,
        channel: Arc<str>,
        hint: u64,
        since: u64,
    ) -> Self {
        let waiter = attempt.queue.then(|| attempt.owner.to_string());
        Self {
            names: NodeNames::of(&attempt.key, round),
            round,
            channel,
            ttl_ms: millis(attempt.ttl),
            hint: hint.to_string(),
            waiter: waiter.unwrap_or_default(),
            since: since.to_string(),
        }
    }

    /// `expiry` is the node's own time from which on it is to refuse this request.
    pub(super) fn to(&self, expiry: u64) -> Cmd {
        let round = self.round.to_string();
        script::ACQUIRE.call(
            &self.names.all(),
            &[
                &round,
                &self.ttl_ms,
                &self.hint,
                &expiry.to_string(),
                &CLAMP.as_micros().to_string(),
                &millis(FENCE_TTL),
                &self.waiter,
                &self.since,
                &self.channel,
                &millis(WAITER_LEASE),
            ],
        )
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

pub(super) fn leave(debt: &Debt, copies_until: u64) -> Cmd {
    let waiter = debt.waiter.map(|waiter| waiter.to_string());
    script::LEAVE.call(
        &NodeNames::of(&debt.key, debt.round).all(),
        &[
            &debt.round.to_string(),
            waiter.as_deref().unwrap_or_default(),
            &copies_until.to_string(),
            &millis(WOKEN_LEASE),
            &millis(TURN),
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
