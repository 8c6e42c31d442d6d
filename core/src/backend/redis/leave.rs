//! A release or cleanup, as it is sent.

use std::time::Duration;

use redis::Cmd;

use super::names::Names;
use super::script;
use super::times::{FENCE_TTL, GRANT_TTL};
use super::words::millis;
use crate::{Key, OwnerId};

/// What ends whatever its owner has.
#[derive(Debug, Clone)]
pub(super) struct Leave {
    pub(super) key: Key,
    pub(super) owner: OwnerId,
    /// Until when copies of the owner's requests may come, on the server's clock.
    pub(super) outstanding: u64,
    /// The waiter to whom the lock may be passed on, and its TTL.
    pub(super) named: Option<(OwnerId, Duration)>,
}

impl Leave {
    /// How many keys and arguments one has in a batch.
    pub(super) const KEYS: usize = 2;
    pub(super) const ARGUMENTS: usize = 3;

    pub(super) fn alone(&self) -> Cmd {
        let names = Names::of(&self.key);
        let seal = names.seal(self.owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let (named, ttl) = match self.named {
            Some((named, ttl)) => (named.to_string(), millis(ttl)),
            None => Default::default(),
        };
        script::LEAVE.call(
            &[lock, fence, queue, leases, shares, &seal],
            &[
                &self.owner.to_string(),
                &millis(GRANT_TTL),
                &self.outstanding.to_string(),
                &named,
                &ttl,
                &millis(FENCE_TTL),
            ],
        )
    }

    /// As `batch.lua` takes them.
    pub(super) fn add_keys(&self, command: &mut Cmd) {
        let names = Names::of(&self.key);
        let [lock, _fence, queue, ..] = names.all();
        command.arg(lock).arg(queue);
    }

    /// As `batch.lua` takes them.
    pub(super) fn add_arguments(&self, command: &mut Cmd) {
        let mut paper = OwnerId::paper();
        command.arg(self.owner.written(&mut paper));
        command.arg(self.outstanding);
        match self.named {
            Some((named, ttl)) => command.arg(format!("{named} {}", ttl.as_millis())),
            None => command.arg(""),
        };
    }
}
