//! What is only done once replicas have it.

use redis::{Cmd, Value};

use super::Redis;
use super::answer::Verdict;
use super::failure::asked_before;
use super::node::How;
use super::synced::{Settled, Synced};
use crate::Key;
use crate::backend::{Attempt, BackendError};

impl Redis {
    /// Sends a granted request again, where the replicas are waited for: a write, which changes nothing but the lease.
    pub(super) async fn confirm(
        &self,
        attempt: &Attempt,
        synced: Synced,
    ) -> Result<Verdict, BackendError> {
        let how = How {
            synced: Some(synced),
            ..How::default()
        };
        let Settled {
            answer: verdict,
            acknowledged,
        } = self.ask(attempt, how).await.map_err(asked_before)?;
        if acknowledged >= synced.replicas || !matches!(verdict, Verdict::Granted(_)) {
            return Ok(verdict);
        }
        Err(self.undo(attempt, too_few(acknowledged, synced)).await)
    }

    /// Gives back what too few replicas have.
    async fn undo(&self, attempt: &Attempt, too_few: String) -> BackendError {
        // While copies may come a cleanup ends the attempt for good, and it may yet be tried again; and what was taken
        // up cannot be taken up twice. The caller cleans up when it gives up.
        if attempt.handover.is_some() || self.copies.outstanding(attempt.owner) > 0 {
            return BackendError::unknown(too_few);
        }
        match self.leave_for_now(&attempt.key, attempt.owner).await {
            Ok(_) => BackendError::not_applied(format!("{too_few}; it was given back")),
            Err(error) => BackendError::unknown(too_few).with_source(error),
        }
    }

    /// One answer, which is an error if too few replicas have what it says.
    pub(super) async fn insist(
        &self,
        key: &Key,
        command: &Cmd,
        synced: Synced,
    ) -> Result<Value, BackendError> {
        let how = How {
            synced: Some(synced),
            ..How::default()
        };
        accepted(self.servers.send(key, command, how).await?, synced)
    }
}

/// Word that a lock is gone needs no replica.
fn accepted(settled: Settled<Value>, synced: Synced) -> Result<Value, BackendError> {
    let Settled {
        answer,
        acknowledged,
    } = settled;
    if answer != Value::Int(0) && acknowledged < synced.replicas {
        return Err(BackendError::unknown(too_few(acknowledged, synced)));
    }
    Ok(answer)
}

pub(super) fn too_few(acknowledged: u32, synced: Synced) -> String {
    let Synced { replicas, within } = synced;
    format!("{acknowledged} of {replicas} replicas acknowledged the lock within {within:?}")
}
