//! Requests of attempts, and the account of their copies.

use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;

use super::answer::{self, Acquired, Verdict};
use super::copies::COPIES_LAST;
use super::names::Names;
use super::node::How;
use super::synced::Settled;
use super::times::{FENCE_TTL, GRANT_TTL, WAITER_LEASE};
use super::words::{flag, millis, millis_of, written};
use super::{Redis, script};
use crate::backend::{Applied, Attempt, BackendError, Mode};
use crate::clock::Moment;
use crate::{Key, OwnerId};

/// A request of an attempt, as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Take {
    key: Key,
    owner: OwnerId,
    ttl: Duration,
    queue: bool,
    mode: Mode,
    giver: Option<OwnerId>,
    /// From when on it is refused, on the server's clock.
    expiry: u64,
}

/// What is said of all requests alike.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Where waiters are told.
    channel: Arc<str>,
    heal: bool,
}

impl Redis {
    /// Asks, and has replicas acknowledge a grant if that was wished for.
    pub(super) async fn acquire(&self, attempt: &Attempt) -> Result<Verdict, BackendError> {
        let how = How {
            listening: attempt.queue,
            synced: None,
        };
        let verdict = self.ask(attempt, how).await?.answer;
        match (&verdict, self.synced) {
            (Verdict::Granted(_), Some(synced)) => self.confirm(attempt, synced).await,
            _ => Ok(verdict),
        }
    }

    /// Sends a request, and keeps account of its copies.
    pub(super) async fn ask(
        &self,
        attempt: &Attempt,
        how: How,
    ) -> Result<Settled<Verdict>, BackendError> {
        let expiry = match self.copies.expiry() {
            Some(expiry) => expiry,
            None => self.ask_time(&attempt.key).await?,
        };
        let sent = Moment::now();
        let copy = self.copies.sending(attempt.owner, expiry);
        let answer = self.send_take(Take::of(attempt, expiry), how).await;
        if answer
            .as_ref()
            .map_or_else(|e| e.applied() == Applied::No, |_| true)
        {
            copy.answered();
        }
        let settled = answer?;
        self.copies.learn(sent, settled.answer.server_micros);
        Ok(Settled {
            answer: settled.answer.verdict,
            acknowledged: settled.acknowledged,
        })
    }

    async fn send_take(&self, take: Take, how: How) -> Result<Settled<Acquired>, BackendError> {
        // Who stands behind others of its process has time, and may go with the release of whoever holds the lock.
        let has_time = || take.queue && !self.inbox.is_first(&take.key, take.owner);
        let joins =
            how.synced.is_none() && take.is_plain() && (self.batches.is_busy() || has_time());
        if let Some(node) = self.servers.one().filter(|_| joins)
            && let Some(acquired) = self.batches.take(node, self.terms(), take.clone()).await
        {
            return acquired.map(Settled::by_nobody);
        }
        let _under_way = self.batches.sending();
        let command = take.alone(&self.terms_of(&take.key));
        let Settled {
            answer,
            acknowledged,
        } = self.servers.send(&take.key, &command, how).await?;
        Ok(Settled {
            answer: answer::acquired(answer)?,
            acknowledged,
        })
    }

    /// What the requests of a batch have in common.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            channel: self.inbox.channel(),
            heal: self.heal,
        }
    }

    fn terms_of(&self, key: &Key) -> Terms {
        Terms {
            channel: self.servers.channel(&self.inbox, key),
            heal: self.heal,
        }
    }

    async fn ask_time(&self, key: &Key) -> Result<u64, BackendError> {
        let sent = Moment::now();
        let time = self.servers.call(key, &redis::cmd("TIME")).await?;
        let (seconds, micros): (u64, u64) = answer::read(time)?;
        self.copies.learn(
            sent,
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        );
        self.copies
            .expiry()
            .ok_or_else(|| BackendError::not_applied("the server's clock is unknown"))
    }
}

impl Take {
    /// How many keys and arguments one has in a batch.
    pub(super) const KEYS: usize = 4;
    pub(super) const ARGUMENTS: usize = 4;

    fn of(attempt: &Attempt, expiry: u64) -> Self {
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
    fn is_plain(&self) -> bool {
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
