//! What is only done once replicas have it.

use redis::{Cmd, Pipeline, Value};

use super::Redis;
use super::answer::Verdict;
use super::synced::{Settled, Synced};
use crate::backend::{Attempt, BackendError};

impl Redis {
    /// Sends a granted request again, where the replicas are waited for: a write, which changes nothing but the lease.
    pub(super) async fn confirm(
        &self,
        attempt: &Attempt,
        synced: Synced,
    ) -> Result<Verdict, BackendError> {
        let mut acknowledged = 0;
        let settle = async |command: &Cmd| {
            let settled = self.settle(command, synced).await?;
            acknowledged = settled.acknowledged;
            settled.answer
        };
        let verdict = self.ask(attempt, settle).await?;
        if acknowledged >= synced.replicas || !matches!(verdict, Verdict::Granted(_)) {
            return Ok(verdict);
        }
        Err(self.undo(attempt, too_few(acknowledged, synced)).await)
    }

    /// Gives back what too few replicas have.
    async fn undo(&self, attempt: &Attempt, too_few: String) -> BackendError {
        // While copies may come, a cleanup would end the attempt, which may yet be tried again; and what was taken up
        // cannot be taken up twice. The caller cleans up when it gives up.
        let keep = attempt.giver.is_some() || self.copies.outstanding(attempt.owner) > 0;
        if keep {
            return BackendError::unknown(too_few);
        }
        match self.leave(&attempt.key, attempt.owner).await {
            Ok(_) => BackendError::not_applied(format!("{too_few}; it was given back")),
            Err(error) => BackendError::unknown(too_few).with_source(error),
        }
    }

    /// One answer, which is an error if too few replicas have what it says.
    pub(super) async fn insist(
        &self,
        command: &Cmd,
        synced: Synced,
    ) -> Result<Value, BackendError> {
        let settled = self.settle(command, synced).await?;
        accepted(settled.answer, settled.acknowledged, synced)
    }

    /// As [`insist`](Self::insist), for several commands.
    pub(super) async fn insist_on(
        &self,
        commands: &Pipeline,
        count: usize,
        synced: Synced,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        let settled = self.node.call_synced(commands, count, synced).await?;
        let answers = settled.answer.into_iter();
        let accepted = |answer| accepted(answer, settled.acknowledged, synced);
        Ok(answers.map(accepted).collect())
    }

    async fn settle(
        &self,
        command: &Cmd,
        synced: Synced,
    ) -> Result<Settled<Result<Value, BackendError>>, BackendError> {
        let mut commands = Pipeline::with_capacity(1);
        commands.add_command(command.clone());
        let settled = self.node.call_synced(&commands, 1, synced).await?;
        let answer = settled.answer.into_iter().next();
        let silent = || {
            Err(BackendError::unknown(
                "the server did not answer this command",
            ))
        };
        Ok(Settled {
            answer: answer.unwrap_or_else(silent),
            acknowledged: settled.acknowledged,
        })
    }
}

/// Word that a lock is gone needs no replica.
fn accepted(
    answer: Result<Value, BackendError>,
    acknowledged: u32,
    synced: Synced,
) -> Result<Value, BackendError> {
    match answer {
        Ok(Value::Int(0)) => answer,
        Ok(_) if acknowledged < synced.replicas => {
            Err(BackendError::unknown(too_few(acknowledged, synced)))
        }
        _ => answer,
    }
}

fn too_few(acknowledged: u32, synced: Synced) -> String {
    let Synced { replicas, within } = synced;
    format!("{acknowledged} of {replicas} replicas acknowledged the lock within {within:?}")
}
