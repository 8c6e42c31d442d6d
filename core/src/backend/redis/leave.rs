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
    pub(super) named: Option<Named>,
}

/// A waiter to whom the lock may be passed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) owner: OwnerId,
    pub(super) ttl: Duration,
    /// Of one that stands in no line: from when on it is refused, on the server's clock.
    pub(super) expiry: Option<u64>,
}

impl Leave {
    /// How many keys and arguments one has in a batch.
    pub(super) const KEYS: usize = 2;
    pub(super) const ARGUMENTS: usize = 3;

    pub(super) fn alone(&self) -> Cmd {
        let names = Names::of(&self.key);
        let seal = names.seal(self.owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let (named, ttl, expiry) = self.named.map_or_else(Default::default, Named::words);
        let named_seal = match self.named {
            Some(named) => names.seal(named.owner),
            None => seal.clone(),
        };
        script::LEAVE.call(
            &[lock, fence, queue, leases, shares, &seal, &named_seal],
            &[
                &self.owner.to_string(),
                &millis(GRANT_TTL),
                &self.outstanding.to_string(),
                &named,
                &ttl,
                &millis(FENCE_TTL),
                &expiry,
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
            Some(named) => {
                let (named, ttl, expiry) = named.words();
                command.arg(format!("{named} {ttl} {expiry}"))
            }
            None => command.arg(""),
        };
    }
}

impl Named {
    fn words(self) -> (String, String, String) {
        let expiry = self.expiry.map_or_else(String::new, |it| it.to_string());
        (self.owner.to_string(), millis(self.ttl), expiry)
    }
}
