//! A request of an attempt, as it is sent.

use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;

use super::copies::COPIES_LAST;
use super::names::Names;
use super::script;
use super::times::{FENCE_TTL, GRANT_TTL, WAITER_LEASE};
use super::words::{flag, millis, millis_of, written};
use crate::backend::{Attempt, Mode};
use crate::{Key, OwnerId};

/// What asks for a lock.
#[derive(Debug, Clone)]
pub(super) struct Take {
    pub(super) key: Key,
    pub(super) owner: OwnerId,
    ttl: Duration,
    pub(super) queue: bool,
    mode: Mode,
    giver: Option<OwnerId>,
    /// From when on it is refused, on the server's clock.
    expiry: u64,
}

/// What is said of all requests alike.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Where waiters are told.
    pub(super) channel: Arc<str>,
    pub(super) heal: bool,
}

impl Take {
    /// How many keys and arguments one has in a batch.
    pub(super) const KEYS: usize = 4;
    pub(super) const ARGUMENTS: usize = 4;

    pub(super) fn of(attempt: &Attempt, expiry: u64) -> Self {
        Self {
            key: attempt.key.clone(),
            owner: attempt.owner,
            ttl: attempt.ttl,
            queue: attempt.queue,
            mode: attempt.mode,
            giver: attempt.giver,
            expiry,
        }
    }

    /// Whether a batch has words for all that it asks.
    pub(super) fn is_plain(&self) -> bool {
        self.mode == Mode::Exclusive && self.giver.is_none()
    }

    pub(super) fn alone(&self, terms: &Terms) -> Cmd {
        let names = Names::of(&self.key);
        let seal = names.seal(self.owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let giver = self.giver.map(|giver| giver.to_string());
        let givers_seal = self.giver.map(|giver| names.seal(giver));
        script::ACQUIRE.call(
            &[
                lock,
                fence,
                queue,
                leases,
                shares,
                &seal,
                givers_seal.as_deref().unwrap_or(&seal),
            ],
            &[
                &self.owner.to_string(),
                &millis(self.ttl),
                flag(self.queue),
                &terms.channel,
                &self.expiry.to_string(),
                &millis(WAITER_LEASE),
                &millis(GRANT_TTL),
                &millis(FENCE_TTL),
                flag(terms.heal),
                &written(self.mode),
                giver.as_deref().unwrap_or_default(),
                &millis(COPIES_LAST),
            ],
        )
    }

    /// As `batch.lua` takes them.
    pub(super) fn add_keys(&self, command: &mut Cmd) {
        let names = Names::of(&self.key);
        let [lock, fence, queue, ..] = names.all();
        let seal = names.seal(self.owner);
        command.arg(lock).arg(fence).arg(queue).arg(seal);
    }

    /// As `batch.lua` takes them.
    pub(super) fn add_arguments(&self, command: &mut Cmd) {
        let mut paper = OwnerId::paper();
        command.arg(self.owner.written(&mut paper));
        command.arg(millis_of(self.ttl));
        command.arg(flag(self.queue)).arg(self.expiry);
    }
}

impl Terms {
    /// How many arguments they are in a batch.
    pub(super) const ARGUMENTS: usize = 6;

    /// As `batch.lua` takes them.
    pub(super) fn add_arguments(&self, command: &mut Cmd) {
        command.arg(&*self.channel).arg(flag(self.heal));
        for lasts in [WAITER_LEASE, GRANT_TTL, FENCE_TTL, COPIES_LAST] {
            command.arg(millis_of(lasts));
        }
    }
}
