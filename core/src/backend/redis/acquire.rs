//! Sends acquire requests, and tracks their duplicates.

use std::sync::Arc;

use super::Redis;
use super::batch::Urgency;
use super::client::SendOptions;
use super::error::maybe_applied;
use super::protocol::reply;
use crate::backend::redis::connection::wait_pool::Acknowledged;
use crate::backend::redis::protocol::acquire_command::{AcquireCommand, ClientContext};
use crate::backend::redis::protocol::release_command::ReleaseCommand;
use crate::backend::redis::protocol::reply::{AcquireOutcome, AcquireReply, ReleaseReply};
use crate::backend::redis::wait::local_release::LocalRelease;
use crate::backend::{Applied, Attempt, BackendError};
use crate::clock::LeaseInstant;
use crate::{Key, OwnerId};

impl Redis {
    /// Asks, and has replicas acknowledge a grant if that was wished for.
    pub(super) async fn acquire(&self, attempt: &Attempt) -> Result<AcquireOutcome, BackendError> {
        let how = SendOptions {
            listening: attempt.queue,
            synced: None,
        };
        let interruptions = self.waiters.interruptions();
        let mut verdict = self.send_acquire(attempt, how).await?.answer;
        if matches!(verdict, AcquireOutcome::Granted(_))
            && interruptions != self.waiters.interruptions()
        {
            verdict = Box::pin(self.reconfirm(attempt, how)).await?;
        }
        match (&verdict, self.synced) {
            (AcquireOutcome::Granted(_), Some(synced)) => {
                still_granted(Box::pin(self.confirm(attempt, synced)).await?)
            }
            _ => Ok(verdict),
        }
    }

    /// Asks for what was granted on a connection that has been given up since: another server may be in charge, and know
    /// nothing of it.
    async fn reconfirm(
        &self,
        attempt: &Attempt,
        how: SendOptions,
    ) -> Result<AcquireOutcome, BackendError> {
        let asked = self.send_acquire(attempt, how).await;
        still_granted(asked.map_err(maybe_applied)?.answer)
    }

    /// Sends a request, and keeps account of its copies.
    pub(super) async fn send_acquire(
        &self,
        attempt: &Attempt,
        how: SendOptions,
    ) -> Result<Acknowledged<AcquireOutcome>, BackendError> {
        let mut sent = LeaseInstant::now();
        let expiry = match self.copies.expiry_at(sent) {
            Some(expiry) => expiry,
            None => {
                let expiry = self.ask_time(&attempt.key).await?;
                sent = LeaseInstant::now();
                expiry
            }
        };
        let copy = self.copies.sending(attempt.owner, expiry);
        let answer = self
            .dispatch_acquire(AcquireCommand::of(attempt, expiry), how)
            .await;
        if answer
            .as_ref()
            .map_or_else(|e| e.applied() == Applied::No, |_| true)
        {
            copy.answered();
        }
        let settled = answer?;
        self.copies.observe_time(sent, settled.answer.server_micros);
        Ok(Acknowledged {
            answer: settled.answer.verdict,
            acknowledged: settled.acknowledged,
        })
    }

    async fn dispatch_acquire(
        &self,
        take: AcquireCommand,
        how: SendOptions,
    ) -> Result<Acknowledged<AcquireReply>, BackendError> {
        // It is not its turn yet, and others may have something to ask as well, be it the release of who is before it.
        let haste = if take.queue && self.waiters.is_behind_another(&take.key, take.owner) {
            Urgency::None
        } else {
            Urgency::Some
        };
        let joins = how.synced.is_none() && take.is_plain() && self.batches.gather(haste);
        if let Some(node) = self.servers.one().filter(|_| joins)
            && let Some(acquired) = self
                .batches
                .take(node, self.terms(), haste, take.clone())
                .await
        {
            return acquired.map(Acknowledged::unacknowledged);
        }
        let _under_way = self.batches.sending();
        let command = take.alone(&self.terms_of(&take.key));
        let Acknowledged {
            answer,
            acknowledged,
        } = self.servers.send(&take.key, &command, how).await?;
        Ok(Acknowledged {
            answer: reply::acquired(answer)?,
            acknowledged,
        })
    }

    /// What the requests of a batch have in common.
    pub(super) fn terms(&self) -> ClientContext {
        self.terms_with(self.waiters.channel())
    }

    fn terms_of(&self, key: &Key) -> ClientContext {
        self.terms_with(self.servers.channel(&self.waiters, key))
    }

    fn terms_with(&self, channel: Arc<str>) -> ClientContext {
        ClientContext {
            scripts: Arc::clone(&self.scripts),
            channel,
            heal: self.heal,
            names_all: self.names_all,
        }
    }

    async fn ask_time(&self, key: &Key) -> Result<u64, BackendError> {
        let sent = LeaseInstant::now();
        let time = self.servers.call(key, &redis::cmd("TIME")).await?;
        let (seconds, micros): (u64, u64) = reply::read(time)?;
        self.copies.observe_time(
            sent,
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        );
        self.copies
            .expiry()
            .ok_or_else(|| BackendError::not_applied("the server's clock is unknown"))
    }

    /// Ends whatever the owner has, for good: true if it held the lock. A server that comes after is told as well.
    pub(super) async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        let latest_expiry = || self.copies.latest_expiry(owner);
        let departure = self
            .departures
            .begin(&self.servers, key, owner, latest_expiry);
        let held = self.leave_for_now(key, owner).await?;
        if let Some(departure) = departure {
            self.departures.confirmed(&self.servers, departure);
        }
        Ok(held)
    }

    /// Ends whatever the owner has: true if it held the lock. It may come back.
    pub(super) async fn leave_for_now(
        &self,
        key: &Key,
        owner: OwnerId,
    ) -> Result<bool, BackendError> {
        let latest_expiry = self.copies.latest_expiry(owner);
        let release = LocalRelease::begin(&self.waiters, &self.copies, key, owner, latest_expiry);
        let leave = ReleaseCommand {
            key: key.clone(),
            owner,
            latest_expiry,
            named: release.successor(),
        };
        let ReleaseReply::Ended { held, outcome } = self.send_leave(leave).await? else {
            return Err(BackendError::unknown(
                "the server has no memory left to note that an attempt is over; asking again",
            ));
        };
        release.answered(outcome);
        self.copies.forget(owner, latest_expiry);
        Ok(held)
    }

    async fn send_leave(&self, leave: ReleaseCommand) -> Result<ReleaseReply, BackendError> {
        if let Some(node) = self
            .servers
            .one()
            .filter(|_| self.batches.gather(Urgency::Some))
            && let Some(left) = self.batches.leave(node, self.terms(), leave.clone()).await
        {
            return left;
        }
        let _under_way = self.batches.sending();
        let command = leave.alone(&self.scripts, self.names_all);
        reply::left(self.servers.call(&leave.key, &command).await?)
    }
}

/// The answer to a request that was granted before. What is refused now may be held there all the same.
fn still_granted(verdict: AcquireOutcome) -> Result<AcquireOutcome, BackendError> {
    match verdict {
        AcquireOutcome::Late | AcquireOutcome::Exhausted => Err(BackendError::unknown(
            "the server granted the lock, and then refused to confirm it",
        )),
        other => Ok(other),
    }
}
