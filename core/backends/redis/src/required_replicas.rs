//! Requires that replicas have acknowledged a write.

use redis::{Cmd, Value};

use super::Redis;
use super::client::SendOptions;
use super::error::maybe_applied;
use crate::connection::wait_command_connections::{Acknowledged, ReplicaRequirement};
use crate::protocol::reply::AcquireOutcome;
use crate::protocol::unanswered_requests::UnansweredRequests;
use leasehold_core::Key;
use leasehold_core::backend::{Attempt, BackendError};

impl Redis {
    /// Sends a duplicate of a granted request, on a connection that waits for replicas. The duplicate request writes
    /// only the lease.
    pub(super) async fn require_replicas(
        &self,
        attempt: &Attempt,
        synced: ReplicaRequirement,
    ) -> Result<AcquireOutcome, BackendError> {
        let how = SendOptions {
            synced: Some(synced),
            ..SendOptions::default()
        };
        let Acknowledged {
            answer: verdict,
            acknowledged,
        } = self
            .send_acquire(attempt, how)
            .await
            .map_err(maybe_applied)?;
        if acknowledged >= synced.replicas || !matches!(verdict, AcquireOutcome::Granted(_)) {
            return Ok(verdict);
        }
        Err(self.undo(attempt, too_few(acknowledged, synced)).await)
    }

    /// Releases a lock that too few replicas have.
    async fn undo(&self, attempt: &Attempt, too_few: String) -> BackendError {
        // If duplicate requests may arrive, a cleanup would permanently end an attempt that the caller may still retry.
        // An attempt cannot accept a handover twice, either. The caller cleans up when it stops retrying.
        let unanswered = UnansweredRequests::of(attempt);
        if attempt.handover.is_some() || self.latest_expiry(&unanswered) > 0 {
            return BackendError::unknown(too_few);
        }
        match self
            .release_without_replay(&attempt.key, attempt.owner, &unanswered)
            .await
        {
            Ok(_) => BackendError::not_applied(format!("{too_few}; it was released")),
            Err(error) => BackendError::unknown(too_few).with_source(error),
        }
    }

    /// Sends a command, and returns its reply. Returns an error if too few replicas acknowledged the command.
    pub(super) async fn insist(
        &self,
        key: &Key,
        command: &Cmd,
        synced: ReplicaRequirement,
    ) -> Result<Value, BackendError> {
        let how = SendOptions {
            synced: Some(synced),
            ..SendOptions::default()
        };
        accepted(self.servers.send(key, command, how).await?, synced)
    }
}

/// Checks the acknowledgements of one reply. A reply that a lock is lost does not need acknowledgements.
fn accepted(
    settled: Acknowledged<Value>,
    synced: ReplicaRequirement,
) -> Result<Value, BackendError> {
    let Acknowledged {
        answer,
        acknowledged,
    } = settled;
    if answer != Value::Int(0) && acknowledged < synced.replicas {
        return Err(BackendError::unknown(too_few(acknowledged, synced)));
    }
    Ok(answer)
}

pub(super) fn too_few(acknowledged: u32, synced: ReplicaRequirement) -> String {
    let ReplicaRequirement { replicas, within } = synced;
    format!("{acknowledged} of {replicas} replicas acknowledged the lock within {within:?}")
}
