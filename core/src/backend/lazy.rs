//! A backend that connects with its first operation.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::sync::SetOnce;

use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Finding, HandoverSecret,
    Inspection, ListCursor, ListPage, Outcome, ReleaseAnswer, RenewAnswer,
};
use crate::{Error, Key};

/// A backend that a URL names.
pub(crate) struct Target {
    pub(crate) capabilities: Capabilities,
    connect: Box<dyn Fn() -> BoxFuture<'static, Connected> + Send + Sync>,
}

type Connected = Result<Arc<dyn Backend>, Error>;

impl Target {
    pub(crate) fn new<F>(
        capabilities: Capabilities,
        connect: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Connected> + Send + 'static,
    {
        Self {
            capabilities,
            connect: Box::new(move || connect().boxed()),
        }
    }

    pub(crate) fn connect(&self) -> BoxFuture<'static, Connected> {
        (self.connect)()
    }
}

/// Connects when it is first used. The operations that arrive meanwhile share one connect. After a failure, the next
/// operation connects again.
pub(crate) struct Lazy {
    target: Target,
    connected: SetOnce<Arc<dyn Backend>>,
    /// The connect in progress. It is kept if its callers give up, so that a connect may take longer than a command.
    connecting: Mutex<Option<Connecting>>,
}

type Connecting = Shared<BoxFuture<'static, Result<Arc<dyn Backend>, BackendError>>>;

impl Lazy {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            connected: SetOnce::new(),
            connecting: Mutex::new(None),
        }
    }

    async fn backend(&self) -> Result<&Arc<dyn Backend>, BackendError> {
        if let Some(backend) = self.connected.get() {
            return Ok(backend);
        }
        let begin = || {
            let connect = self.target.connect();
            async { connect.await.map_err(|error| refused(&error)) }
                .boxed()
                .shared()
        };
        let connecting = self.connecting.lock().get_or_insert_with(begin).clone();
        match connecting.clone().await {
            Ok(backend) => {
                // All callers have the same backend, so only the first one must store it.
                let _stored_before = self.connected.set(backend);
                Ok(self.connected.wait().await)
            }
            Err(error) => {
                let mut current = self.connecting.lock();
                if current.as_ref().is_some_and(|it| it.ptr_eq(&connecting)) {
                    *current = None;
                }
                Err(error)
            }
        }
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
impl Backend for Lazy {
    fn capabilities(&self) -> Capabilities {
        self.target.capabilities
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
        self.backend().await?.cleanup(attempt).await
    }

    fn cleanup_now(&self, attempt: &Attempt, now: Instant) -> Option<Result<(), BackendError>> {
        self.connected.get()?.cleanup_now(attempt, now)
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
        let connecting = self.connecting.lock().take();
        drop(connecting);
        if let Some(backend) = self.connected.get() {
            backend.close().await;
        }
    }
}
