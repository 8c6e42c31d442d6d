//! Requests, and the account of their copies.

use super::Redis;
use super::answer::{self, Acquired, Left, Verdict};
use super::batch::Haste;
use super::failure::asked_before;
use super::leave::Leave;
use super::node::How;
use super::synced::Settled;
use super::take::{Take, Terms};
use crate::backend::{Applied, Attempt, BackendError};
use crate::clock::Moment;
use crate::{Key, OwnerId};

impl Redis {
    /// Asks, and has replicas acknowledge a grant if that was wished for.
    pub(super) async fn acquire(&self, attempt: &Attempt) -> Result<Verdict, BackendError> {
        let how = How {
            listening: attempt.queue,
            synced: None,
        };
        let interruptions = self.inbox.interruptions();
        let mut verdict = self.ask(attempt, how).await?.answer;
        if matches!(verdict, Verdict::Granted(_)) && interruptions != self.inbox.interruptions() {
            verdict = Box::pin(self.ask_again(attempt, how)).await?;
        }
        match (&verdict, self.synced) {
            (Verdict::Granted(_), Some(synced)) => {
                still_granted(Box::pin(self.confirm(attempt, synced)).await?)
            }
            _ => Ok(verdict),
        }
    }

    /// Asks for what was granted on a connection that has been given up since: another server may be in charge, and know
    /// nothing of it.
    async fn ask_again(&self, attempt: &Attempt, how: How) -> Result<Verdict, BackendError> {
        let asked = self.ask(attempt, how).await;
        still_granted(asked.map_err(asked_before)?.answer)
    }

    /// Sends a request, and keeps account of its copies.
    pub(super) async fn ask(
        &self,
        attempt: &Attempt,
        how: How,
    ) -> Result<Settled<Verdict>, BackendError> {
        let mut sent = Moment::now();
        let expiry = match self.copies.expiry_at(sent) {
            Some(expiry) => expiry,
            None => {
                let expiry = self.ask_time(&attempt.key).await?;
                sent = Moment::now();
                expiry
            }
        };
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
        // It is not its turn yet, and others may have something to ask as well, be it the release of who is before it.
        let haste = if take.queue && self.inbox.is_behind_another(&take.key, take.owner) {
            Haste::None
        } else {
            Haste::Some
        };
        let joins = how.synced.is_none() && take.is_plain() && self.batches.gather(haste);
        if let Some(node) = self.servers.one().filter(|_| joins)
            && let Some(acquired) = self
                .batches
                .take(node, self.terms(), haste, take.clone())
                .await
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
            names_all: self.names_all,
        }
    }

    fn terms_of(&self, key: &Key) -> Terms {
        Terms {
            channel: self.servers.channel(&self.inbox, key),
            heal: self.heal,
            names_all: self.names_all,
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

    /// Ends whatever the owner has, for good: true if it held the lock. A server that comes after is told as well.
    pub(super) async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        let outstanding = || self.copies.outstanding(owner);
        let departure = self
            .departures
            .begin(&self.servers, key, owner, outstanding);
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
        self.inbox.leave(key, owner);
        let outstanding = self.copies.outstanding(owner);
        let passing = self.passing(key, owner, outstanding);
        let leave = Leave {
            key: key.clone(),
            owner,
            outstanding,
            named: passing.named(),
        };
        let Left::Ended { held, outcome } = self.send_leave(leave).await? else {
            return Err(BackendError::unknown(
                "the server has no memory left to note that an attempt is over; asking again",
            ));
        };
        passing.answered(outcome);
        self.copies.forget(owner, outstanding);
        Ok(held)
    }

    async fn send_leave(&self, leave: Leave) -> Result<Left, BackendError> {
        if let Some(node) = self
            .servers
            .one()
            .filter(|_| self.batches.gather(Haste::Some))
            && let Some(left) = self.batches.leave(node, self.terms(), leave.clone()).await
        {
            return left;
        }
        let _under_way = self.batches.sending();
        let command = leave.alone(self.names_all);
        answer::left(self.servers.call(&leave.key, &command).await?)
    }
}

/// The answer to a request that was granted before. What is refused now may be held there all the same.
fn still_granted(verdict: Verdict) -> Result<Verdict, BackendError> {
    match verdict {
        Verdict::Late | Verdict::Exhausted => Err(BackendError::unknown(
            "the server granted the lock, and then refused to confirm it",
        )),
        other => Ok(other),
    }
}
