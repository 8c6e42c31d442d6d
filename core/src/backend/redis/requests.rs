//! Requests of attempts, and the account of their copies.

use redis::Cmd;

use super::answer::{self, Left, Verdict};
use super::copies::COPIES_LAST;
use super::names::Names;
use super::node::How;
use super::synced::Settled;
use super::times::{FENCE_TTL, GRANT_TTL, WAITER_LEASE};
use super::words::{flag, millis, written};
use super::{Redis, script};
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
        let command = self.request(attempt, expiry);
        let sent = Moment::now();
        let copy = self.copies.sending(attempt.owner, expiry);
        let answer = self.servers.send(&attempt.key, &command, how).await;
        if answer
            .as_ref()
            .map_or_else(|e| e.applied() == Applied::No, |_| true)
        {
            copy.answered();
        }
        let Settled {
            answer,
            acknowledged,
        } = answer?;
        let acquired = answer::acquired(answer)?;
        self.copies.learn(sent, acquired.server_micros);
        Ok(Settled {
            answer: acquired.verdict,
            acknowledged,
        })
    }

    fn request(&self, attempt: &Attempt, expiry: u64) -> Cmd {
        let names = Names::of(&attempt.key);
        let seal = names.seal(attempt.owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let giver = attempt.giver.map(|giver| giver.to_string());
        let givers_seal = attempt.giver.map(|giver| names.seal(giver));
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
                &attempt.owner.to_string(),
                &millis(attempt.ttl),
                flag(attempt.queue),
                &self.servers.channel(&self.inbox, &attempt.key),
                &expiry.to_string(),
                &millis(WAITER_LEASE),
                &millis(GRANT_TTL),
                &millis(FENCE_TTL),
                flag(self.heal),
                &written(attempt.mode),
                giver.as_deref().unwrap_or_default(),
                &millis(COPIES_LAST),
            ],
        )
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

    /// Ends whatever the owner has: true if it held the lock.
    pub(super) async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        self.inbox.leave(key, owner);
        let names = Names::of(key);
        let seal = names.seal(owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let outstanding = self.copies.outstanding(owner);
        let passing = self.passing(key);
        let (named, ttl) = passing.named();
        let command = script::LEAVE.call(
            &[lock, fence, queue, leases, shares, &seal],
            &[
                &owner.to_string(),
                &millis(GRANT_TTL),
                &outstanding.to_string(),
                &named,
                &ttl,
                &millis(FENCE_TTL),
            ],
        );
        let Left::Ended { held, passed } = answer::left(self.servers.call(key, &command).await?)?
        else {
            return Err(BackendError::unknown(
                "the server has no memory left to note that an attempt is over; asking again",
            ));
        };
        passing.answered(passed);
        self.copies.forget(owner);
        Ok(held)
    }
}
