//! A mistake: a client that counts its leases from the arrival of the answer.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Inspection, Outcome,
    ReleaseAnswer, RenewAnswer, async_trait,
};
use tokio::time::Instant;

/// A correct client counts a lease from the sending of its request. This backend extends each lease by the duration of
/// the request.
#[derive(Debug)]
pub(crate) struct LeaseFromAnswer<B>(pub(crate) B);

fn later(mut answer: RenewAnswer, by: Duration) -> RenewAnswer {
    if let RenewAnswer::Extended { lease } = &mut answer {
        *lease += by;
    }
    answer
}

#[async_trait]
impl<B: Backend> Backend for LeaseFromAnswer<B> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let sent = Instant::now();
        let mut answer = self.0.attempt(attempt).await?;
        if let AttemptAnswer::Granted { lease, .. } = &mut answer {
            *lease += sent.elapsed();
        }
        Ok(answer)
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.0.wait(attempt).await
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let sent = Instant::now();
        let answers = self.0.renew(claims).await.into_iter();
        let late = |it: Result<_, _>| it.map(|answer| later(answer, sent.elapsed()));
        answers.map(late).collect()
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let sent = Instant::now();
        let answer = self.0.downgrade(claim).await?;
        Ok(later(answer, sent.elapsed()))
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.0.release(claim).await
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        self.0.record(claim, outcome, keep).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.0.cleanup(attempt).await
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        self.0.inspect(key).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.0.force_release(key).await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.0.interrupted(seen).await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
