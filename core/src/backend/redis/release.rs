//! Releases and cleanups, and the waiter of this process that a release names.

use super::Redis;
use super::batch::Urgency;
use super::protocol::release_command::ReleaseCommand;
use super::protocol::reply::{self, ReleaseReply};
use super::wait::release_in_flight::ReleaseInFlight;
use crate::backend::BackendError;
use crate::{Key, OwnerId};

impl Redis {
    /// Ends the lock or the queue position of the owner for good. Returns whether it held the lock. After a failover the new
    /// primary is sent the release, too.
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
