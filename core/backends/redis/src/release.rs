//! Sends releases, cleanups and outcomes. Handles the waiter of this process that a release names.

use std::time::Duration;

use super::Redis;
use super::batch::Urgency;
use super::keys::{KeyBuilder, LockKeys};
use super::protocol::millis;
use super::protocol::release_command::ReleaseCommand;
use super::protocol::reply::{self, ReleaseReply};
use super::protocol::unanswered_requests::UnansweredRequests;
use super::wait::release_to_local_waiter::ReleaseInFlight;
use leasehold_core::backend::{BackendError, Claim, Outcome, ReleaseAnswer, RenewAnswer};
use leasehold_core::{AttemptId, Key};

impl Redis {
    /// Permanently ends the lock or the queue position of the owner. Returns whether the owner held the lock. After a
    /// failover, the client also sends the release to the new primary.
    pub(super) async fn release_owner(
        &self,
        key: &Key,
        owner: AttemptId,
        unanswered: &UnansweredRequests,
    ) -> Result<bool, BackendError> {
        let latest_expiry = || self.latest_expiry(unanswered);
        let recent = self
            .release_replay
            .begin(&self.servers, key, owner, latest_expiry);
        let held = self.release_without_replay(key, owner, unanswered).await?;
        if let Some(recent) = recent {
            self.release_replay.confirmed(&self.servers, recent);
        }
        Ok(held)
    }

    /// Returns the server time until which the server may execute a request without a reply, or zero.
    pub(super) fn latest_expiry(&self, unanswered: &UnansweredRequests) -> u64 {
        let expiry = unanswered.latest_expiry();
        if self.server_clock.is_long_before_now(expiry) {
            return 0;
        }
        expiry
    }

    /// Ends the owner's lock or queue position, and returns whether the owner held the lock. The owner may send further
    /// requests.
    pub(super) async fn release_without_replay(
        &self,
        key: &Key,
        owner: AttemptId,
        unanswered: &UnansweredRequests,
    ) -> Result<bool, BackendError> {
        let latest_expiry = self.latest_expiry(unanswered);
        let release =
            ReleaseInFlight::begin(&self.waiters, &self.server_clock, key, owner, latest_expiry);
        let command = ReleaseCommand {
            key: key.clone(),
            owner,
            latest_expiry,
            named: release.successor(),
        };
        let ReleaseReply::Ended { held, outcome } = self.send_release(&command).await? else {
            return Err(BackendError::unknown(
                "the server has no memory left to record the end of an attempt; retrying",
            ));
        };
        release.answered(outcome);
        unanswered.forget(latest_expiry);
        Ok(held)
    }

    /// Records the outcome of the claim's owner, and ends its lock.
    pub(super) async fn send_outcome(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        let Claim { key, owner, .. } = claim;
        let (names, mut companions) = (LockKeys::of(key), KeyBuilder::of(key));
        let unanswered = UnansweredRequests::of_claim(claim);
        let latest_expiry = self.latest_expiry(&unanswered);
        let mut command = self.scripts.record.begin(7, 5, outcome.bytes.len() + 512);
        command.arg(&names.all()).arg(companions.outcome());
        command.arg(companions.seal(*owner));
        let mut buffer = AttemptId::buffer();
        command
            .arg(owner.written(&mut buffer))
            .arg(claim.token.get());
        command.arg(latest_expiry).arg(millis(keep));
        command.arg(reply::encoded(outcome));
        let recorded: u8 = reply::read(self.run_and_require_replicas(key, &command).await?)?;
        if recorded == 0 {
            return Ok(ReleaseAnswer::AlreadyGone);
        }
        unanswered.forget(latest_expiry);
        Ok(ReleaseAnswer::Released)
    }

    /// Lets the lock end after the claim's TTL. Duplicate acquire requests without a reply may still arrive after that
    /// time, so the server first stores a tombstone, as after a release.
    pub(super) async fn leave_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let unanswered = UnansweredRequests::of_claim(claim);
        let latest_expiry = self.latest_expiry(&unanswered);
        if latest_expiry > 0 {
            let mut seal = redis::cmd("SET");
            seal.arg(KeyBuilder::of(&claim.key).seal(claim.owner));
            // Keys expire by a clock in milliseconds.
            let until_ms = latest_expiry / 1000 + 2;
            seal.arg("1").arg("PXAT").arg(until_ms);
            self.servers.call(&claim.key, &seal).await?;
        }
        let extended = self.extend(std::slice::from_ref(claim)).await.pop();
        let no_reply = || Err(BackendError::unknown("the server did not reply"));
        let answer = extended.unwrap_or_else(no_reply)?;
        unanswered.forget(latest_expiry);
        self.delete_secret(claim, &unanswered).await;
        Ok(answer)
    }

    async fn send_release(&self, release: &ReleaseCommand) -> Result<ReleaseReply, BackendError> {
        if let Some(node) = self
            .servers
            .one()
            .filter(|_| self.batches.gather(Urgency::Some))
            && let Some(left) = self
                .batches
                .release(node, self.context(), release.clone())
                .await
        {
            return left;
        }
        let _under_way = self.batches.sending();
        let command = release.alone(&self.scripts, self.names_all);
        // The box keeps the future of a release in a batch small. The allocator is quicker then.
        reply::released(Box::pin(self.servers.call(&release.key, &command)).await?)
    }
}
