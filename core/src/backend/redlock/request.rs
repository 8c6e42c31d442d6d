//! The requests that are sent to each node, and the scripts that run them there.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{Cmd, Pipeline};

use super::release_backlog::PendingNodeRelease;
use crate::backend::redis::keys::NodeKeys;
use crate::backend::redis::protocol::{micros, millis_of};
use crate::backend::redis::scripts::{self, Script};
use crate::backend::redis::timing::WAITER_LEASE;
use crate::backend::{Attempt, Claim};
use crate::{Key, OwnerId};

/// By how much a token may be ahead of a node's clock at most, on a client's word.
pub(super) const CLAMP: Duration = Duration::from_secs(1);

/// How far a client's hint is ahead of its clock: further than honest clocks differ, so that all nodes answer the
/// hint.
pub(super) const AHEAD: Duration = Duration::from_millis(250);

/// How long a waiter that was notified keeps its position without asking again.
const NOTIFIED_LEASE: Duration = Duration::from_millis(500);

/// For how long a free lock is reserved for the waiter that was notified.
const RESERVED: Duration = Duration::from_millis(100);

macro_rules! script {
    ($name:ident, $file:literal) => {
        static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!($file)
            ))
        });
    };
}

script!(ACQUIRE, "scripts/acquire.lua");
script!(RAISE_TOKEN, "scripts/raise_token.lua");
script!(EXTEND, "scripts/extend.lua");
script!(RELEASE, "scripts/release.lua");
script!(FORCE_RELEASE, "scripts/force_release.lua");
script!(INSPECT, "scripts/inspect.lua");

/// Returns what makes the scripts known to a node.
pub(super) fn load_scripts() -> Arc<Pipeline> {
    let all = [
        &ACQUIRE,
        &RAISE_TOKEN,
        &EXTEND,
        &RELEASE,
        &FORCE_RELEASE,
        &INSPECT,
    ];
    scripts::load(all.map(|it| &**it))
}

/// What a round asks of all nodes.
pub(super) struct NodeAcquire {
    names: NodeKeys,
    round: OwnerId,
    fence_ttl: Duration,
    /// All but its last word.
    acquire: Cmd,
}

impl NodeAcquire {
    /// `channel` is where a waiter is to be woken, and `since` when it began to wait.
    pub(super) fn new(
        attempt: &Attempt,
        round: OwnerId,
        channel: &str,
        hint: u64,
        since: u64,
        fence_ttl: Duration,
    ) -> Self {
        let names = NodeKeys::of(&attempt.key, round);
        let mut acquire = call(&ACQUIRE, &names, 10);
        acquire.arg(round.written(&mut OwnerId::buffer()));
        acquire.arg(millis_of(attempt.ttl)).arg(hint);
        acquire.arg(micros(CLAMP)).arg(millis_of(fence_ttl));
        match attempt.queue {
            true => acquire.arg(attempt.owner.written(&mut OwnerId::buffer())),
            false => acquire.arg(""),
        };
        acquire.arg(since).arg(channel).arg(millis_of(WAITER_LEASE));
        Self {
            names,
            round,
            fence_ttl,
            acquire,
        }
    }

    /// `expiry` is the node's own time from which on it is to refuse this request.
    pub(super) fn acquire(&self, expiry: u64) -> Cmd {
        let mut command = self.acquire.clone();
        command.arg(expiry);
        command
    }

    pub(super) fn raise_token(&self, token: u64) -> Cmd {
        let mut raise = call(&RAISE_TOKEN, &self.names, 3);
        raise.arg(self.round.written(&mut OwnerId::buffer()));
        raise.arg(token).arg(millis_of(self.fence_ttl));
        raise
    }
}

/// The end of a round, as all nodes are told.
pub(super) struct NodeRelease {
    pub(super) pending: PendingNodeRelease,
    /// All but its last word.
    command: Cmd,
}

impl NodeRelease {
    pub(super) fn new(pending: PendingNodeRelease) -> Self {
        let names = NodeKeys::of(&pending.key, pending.round);
        let mut command = call(&RELEASE, &names, 5);
        command.arg(pending.round.written(&mut OwnerId::buffer()));
        match pending.waiter {
            Some(waiter) => command.arg(waiter.written(&mut OwnerId::buffer())),
            None => command.arg(""),
        };
        command
            .arg(millis_of(NOTIFIED_LEASE))
            .arg(millis_of(RESERVED));
        Self { pending, command }
    }

    /// `copies_until` is the node's own time until which requests of the round may still come.
    pub(super) fn command(&self, copies_until: u64) -> Cmd {
        let mut command = self.command.clone();
        command.arg(copies_until);
        command
    }
}

pub(super) fn extend(claim: &Claim, round: OwnerId, fence_ttl: Duration) -> Cmd {
    let mut extend = call(&EXTEND, &NodeKeys::of(&claim.key, round), 4);
    extend.arg(round.written(&mut OwnerId::buffer()));
    extend.arg(millis_of(claim.ttl)).arg(claim.token.get());
    extend.arg(millis_of(fence_ttl));
    extend
}

pub(super) fn force_release(key: &Key) -> Cmd {
    let mut force_release = call(&FORCE_RELEASE, &NodeKeys::of(key, OwnerId::random()), 2);
    force_release
        .arg(millis_of(NOTIFIED_LEASE))
        .arg(millis_of(RESERVED));
    force_release
}

pub(super) fn inspect(key: &Key) -> Cmd {
    call(&INSPECT, &NodeKeys::of(key, OwnerId::random()), 0)
}

/// Returns a call of a script with its keys, and with room for `arguments`.
fn call(script: &Script, names: &NodeKeys, arguments: usize) -> Cmd {
    let keys = names.all();
    let bytes: usize = keys.iter().map(|key| key.len()).sum();
    // Most arguments are ids or numbers.
    let mut command = script.begin(keys.len(), arguments, bytes + 32 * arguments);
    command.arg(&keys);
    command
}
