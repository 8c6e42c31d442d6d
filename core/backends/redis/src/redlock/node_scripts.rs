//! The requests to each node, and the scripts that execute them.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{Cmd, Pipeline};

use super::release_backlog::PendingNodeRelease;
use crate::keys::NodeKeys;
use crate::protocol::{micros, millis_of};
use crate::scripts::{self, Script};
use crate::time_limits::WAITER_LEASE;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::{AttemptId, Key};

/// The longest time by which a client's hint may put a token ahead of a node's clock.
pub(super) const CLAMP: Duration = Duration::from_secs(1);

/// The time by which a hint is ahead of its client's clock. This is more than the difference between correct clocks, so
/// that all nodes reply with the hint.
pub(super) const AHEAD: Duration = Duration::from_millis(250);

/// The time for which a notified waiter keeps its position without another request.
const NOTIFIED_LEASE: Duration = Duration::from_millis(500);

/// The time for which a node reserves a free lock for the notified waiter.
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

/// Returns the commands that load the scripts into a node.
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

/// The request of a round to all nodes.
pub(super) struct NodeAcquire {
    names: NodeKeys,
    round: AttemptId,
    fence_ttl: Duration,
    /// All words of the command except the last argument.
    acquire: Cmd,
}

impl NodeAcquire {
    /// Creates the request. `channel` is the channel for notifications, and `since` is when the waiter began to wait.
    pub(super) fn new(
        attempt: &Attempt,
        round: AttemptId,
        channel: &str,
        hint: u64,
        since: u64,
        fence_ttl: Duration,
    ) -> Self {
        let names = NodeKeys::of(&attempt.key, round);
        let mut acquire = call(&ACQUIRE, &names, 10);
        acquire.arg(round.written(&mut AttemptId::buffer()));
        acquire.arg(millis_of(attempt.ttl)).arg(hint);
        acquire.arg(micros(CLAMP)).arg(millis_of(fence_ttl));
        match attempt.queue {
            true => acquire.arg(attempt.owner.written(&mut AttemptId::buffer())),
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

    /// Returns the command. The node refuses the request from `expiry` on, by its own clock.
    pub(super) fn acquire(&self, expiry: u64) -> Cmd {
        let mut command = self.acquire.clone();
        command.arg(expiry);
        command
    }

    pub(super) fn raise_token(&self, token: u64) -> Cmd {
        let mut raise = call(&RAISE_TOKEN, &self.names, 3);
        raise.arg(self.round.written(&mut AttemptId::buffer()));
        raise.arg(token).arg(millis_of(self.fence_ttl));
        raise
    }
}

/// The release of a round, for all nodes.
pub(super) struct NodeRelease {
    pub(super) pending: PendingNodeRelease,
    /// All words of the command except the last argument.
    command: Cmd,
}

impl NodeRelease {
    pub(super) fn new(pending: PendingNodeRelease) -> Self {
        let names = NodeKeys::of(&pending.key, pending.round.id);
        let mut command = call(&RELEASE, &names, 5);
        command.arg(pending.round.id.written(&mut AttemptId::buffer()));
        match pending.waiter {
            Some(waiter) => command.arg(waiter.written(&mut AttemptId::buffer())),
            None => command.arg(""),
        };
        command
            .arg(millis_of(NOTIFIED_LEASE))
            .arg(millis_of(RESERVED));
        Self { pending, command }
    }

    /// Returns the command. Duplicate requests of the round may arrive until `latest_expiry`, on the node's clock.
    pub(super) fn command(&self, latest_expiry: u64) -> Cmd {
        let mut command = self.command.clone();
        command.arg(latest_expiry);
        command
    }
}

pub(super) fn extend(claim: &Claim, round: AttemptId, fence_ttl: Duration) -> Cmd {
    let mut extend = call(&EXTEND, &NodeKeys::of(&claim.key, round), 4);
    extend.arg(round.written(&mut AttemptId::buffer()));
    extend.arg(millis_of(claim.ttl)).arg(claim.token.get());
    extend.arg(millis_of(fence_ttl));
    extend
}

pub(super) fn force_release(key: &Key) -> Cmd {
    let mut force_release = call(&FORCE_RELEASE, &NodeKeys::of(key, AttemptId::random()), 2);
    force_release
        .arg(millis_of(NOTIFIED_LEASE))
        .arg(millis_of(RESERVED));
    force_release
}

pub(super) fn inspect(key: &Key) -> Cmd {
    call(&INSPECT, &NodeKeys::of(key, AttemptId::random()), 0)
}

/// Returns a call of a script with its keys, and with space for `arguments`.
fn call(script: &Script, names: &NodeKeys, arguments: usize) -> Cmd {
    let keys = names.all();
    let bytes: usize = keys.iter().map(|key| key.len()).sum();
    // Most arguments are ids or numbers.
    let mut command = script.begin(keys.len(), arguments, bytes + 32 * arguments);
    command.arg(&keys);
    command
}
