//! Sends releases and cleanups. Handles the waiter of this process that a release names.

use super::Redis;
use super::batch::Urgency;
use super::keys::KeyBuilder;
use super::protocol::release_command::ReleaseCommand;
use super::protocol::reply::{self, ReleaseReply};
use super::wait::release_in_flight::ReleaseInFlight;
use crate::backend::{BackendError, Claim, RenewAnswer};
use crate::{AttemptId, Key};

impl Redis {
    /// Permanently ends the lock or the queue position of the owner. Returns whether the owner held the lock. After a
    /// failover, the client also sends the release to the new primary.
    pub(super) async fn leave(&self, key: &Key, owner: AttemptId) -> Result<bool, BackendError> {
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

    /// Ends the owner's lock or queue position, and returns whether the owner held the lock. The owner may send further
    /// requests.
    pub(super) async fn leave_for_now(
        &self,
        key: &Key,
        owner: AttemptId,
    ) -> Result<bool, BackendError> {
        let latest_expiry = self.copies.latest_expiry(owner);
        let release =
            ReleaseInFlight::begin(&self.waiters, &self.copies, key, owner, latest_expiry);
        let leave = ReleaseCommand {
            key: key.clone(),
            owner,
            latest_expiry,
            named: release.successor(),
        };
        let ReleaseReply::Ended { held, outcome } = self.send_leave(leave).await? else {
            return Err(BackendError::unknown(
                "the server has no memory left to record the end of an attempt; retrying",
            ));
        };
        release.answered(outcome);
        self.copies.forget(owner, latest_expiry);
        Ok(held)
    }

    /// Lets the lock end after the claim's TTL. Duplicate acquire requests without a reply may still arrive after that
    /// time, so the server first stores a tombstone, as after a release.
    pub(super) async fn leave_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let latest_expiry = self.copies.latest_expiry(claim.owner);
        if latest_expiry > 0 {
            let mut seal = redis::cmd("SET");
            seal.arg(KeyBuilder::of(&claim.key).seal(claim.owner));
            // Keys expire by a clock in milliseconds.
            let until_ms = latest_expiry / 1000 + 2;
            seal.arg("1").arg("PXAT").arg(until_ms);
            self.servers.call(&claim.key, &seal).await?;
        }
        let extended = self.extend(std::slice::from_ref(claim)).await.pop();
        let unanswered = || Err(BackendError::unknown("the server did not reply"));
        let answer = extended.unwrap_or_else(unanswered)?;
        self.copies.forget(claim.owner, latest_expiry);
        Ok(answer)
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
