//! A backend that connects with its first operation.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{SetOnce, SetOnceError};

use super::support::single_flight::SingleFlight;
use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Connector, Finding,
    HandoverSecret, Inspection, ListCursor, ListPage, Outcome, ReleaseAnswer, RenewAnswer,
};
use crate::{AttemptId, Error, Key};

/// Connects when it is first used. The operations that arrive meanwhile share one connect in each runtime. After a
/// failure, the next operation connects again.
pub(crate) struct Lazy {
    connector: Connector,
    connected: Arc<SetOnce<Arc<dyn Backend>>>,
    connecting: SingleFlight<()>,
    is_closed: Arc<Mutex<bool>>,
}

impl Lazy {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            connector,
            connected: Arc::default(),
            connecting: SingleFlight::default(),
            is_closed: Arc::default(),
        }
    }

    async fn backend(&self) -> Result<&Arc<dyn Backend>, BackendError> {
        if let Some(backend) = self.connected.get() {
            return Ok(backend);
        }
        if *self.is_closed.lock() {
            return Err(BackendError::not_applied("the manager was shut down").permanent());
        }
        let begin = || {
            let connect = self.connector.connect();
            let (connected, is_closed) = (Arc::clone(&self.connected), Arc::clone(&self.is_closed));
            async move {
                let backend = connect.await.map_err(|error| refused(&error))?;
                // Another runtime may have connected first.
                if let Err(SetOnceError(second)) = connected.set(backend) {
                    second.close().await;
                }
                let is_closed = *is_closed.lock();
                if is_closed && let Some(backend) = connected.get() {
                    backend.close().await;
                }
                Ok(())
            }
        };
        Box::pin(self.connecting.join(begin)).await?;
        Ok(self.connected.wait().await)
    }
}

/// Returns the error of an operation that could not connect.
fn refused(error: &Error) -> BackendError {
    let refused = BackendError::not_applied(error.to_string());
    match error.is_temporary() {
        true => refused,
        false => refused.permanent(),
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lazy").field(&self.connected.get()).finish()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Lazy {
    fn capabilities(&self) -> Capabilities {
        self.connector.capabilities
    }

    fn attempt_id(&self) -> AttemptId {
        let connected = self.connected.get();
        connected.map_or_else(AttemptId::random, Backend::attempt_id)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        self.backend().await?.attempt(attempt).await
    }

    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        self.connected.get()?.attempt_now(attempt, now)
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.backend().await?.wait(attempt).await
    }

    fn server_of(&self, key: &Key) -> u64 {
        let connected = self.connected.get();
        connected.map_or(0, |backend| backend.server_of(key))
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        match self.backend().await {
            Ok(backend) => backend.renew(claims).await,
            Err(error) => vec![Err(error)],
        }
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.backend().await?.downgrade(claim).await
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        self.backend().await?.hand_over(claim, secret).await
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.backend().await?.release(claim).await
    }

    fn release_now(
        &self,
        claim: &Claim,
        now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        self.connected.get()?.release_now(claim, now)
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        self.backend().await?.record(claim, outcome, keep).await
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        self.backend().await?.forget(key).await
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.backend().await?.release_after(claim).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        match self.connected.get() {
            Some(backend) => backend.cleanup(attempt).await,
            None => Ok(()),
        }
    }

    /// An attempt that was given up before the connect was never sent.
    fn cleanup_now(&self, attempt: &Attempt, now: Instant) -> Option<Result<(), BackendError>> {
        match self.connected.get() {
            Some(backend) => backend.cleanup_now(attempt, now),
            None => Some(Ok(())),
        }
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        self.backend().await?.inspect(key).await
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.backend().await?.force_release(key).await
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        self.backend().await?.force_release_holder(key, id).await
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        self.backend().await?.list(prefix, cursor).await
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        self.backend().await?.examine().await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.connected.wait().await.interrupted(seen).await
    }

    async fn close(&self) {
        // A connect in progress reads this after it has stored its backend, so one of the two closes the backend.
        *self.is_closed.lock() = true;
        if let Some(backend) = self.connected.get() {
            backend.close().await;
        }
    }
}
