//! Releases and cleanups.

use std::time::Duration;

use redis::Cmd;

use super::Redis;
use super::answer::{self, Left};
use super::names::Names;
use super::script;
use super::times::{FENCE_TTL, GRANT_TTL};
use super::words::millis;
use crate::backend::BackendError;
use crate::{Key, OwnerId};

/// A release or cleanup, as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Leave {
    key: Key,
    owner: OwnerId,
    /// Until when copies of the owner's requests may come, on the server's clock.
    outstanding: u64,
    /// The waiter to whom the lock may be passed on, and its TTL.
    named: Option<(OwnerId, Duration)>,
}

impl Redis {
    /// Ends whatever the owner has: true if it held the lock.
    pub(super) async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        self.inbox.leave(key, owner);
        let passing = self.passing(key);
        let leave = Leave {
            key: key.clone(),
            owner,
            outstanding: self.copies.outstanding(owner),
            named: passing.named(),
        };
        let Left::Ended { held, passed } = self.send_leave(leave).await? else {
            return Err(BackendError::unknown(
                "the server has no memory left to note that an attempt is over; asking again",
            ));
        };
        passing.answered(passed);
        self.copies.forget(owner);
        Ok(held)
    }

    async fn send_leave(&self, leave: Leave) -> Result<Left, BackendError> {
        if let Some(node) = self.servers.one().filter(|_| self.batches.is_busy())
            && let Some(left) = self.batches.leave(node, self.terms(), leave.clone()).await
        {
            return left;
        }
        let _under_way = self.batches.sending();
        answer::left(self.servers.call(&leave.key, &leave.alone()).await?)
    }
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
