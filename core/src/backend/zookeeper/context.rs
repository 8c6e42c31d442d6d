//! What the operations of the backend share.

use std::future::Future;
use std::sync::Arc;

use super::attempt_registry::AttemptRegistry;
use super::current_session::CurrentSession;
use crate::backend::BackendError;

/// What requests need.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) link: Arc<CurrentSession>,
    pub(super) registry: Arc<AttemptRegistry>,
}

impl Context {
    /// Waits a while for a session, so that a request that makes something need not: it would go on waiting when its
    /// caller has gone, and come after the cleanup.
    pub(super) async fn until_settled(&self) -> Result<(), BackendError> {
        if self.link.is_settled() {
            return Ok(());
        }
        let settled = async move |parts: Self| parts.link.settled().await;
        self.carry_out(settled).await
    }

    /// Carries a request out on the link's thread, to its end, whether or not the caller is polled or still there: a
    /// session lasts as long as a request has it, and what an attempt has is not ended as long as a request is at it.
    pub(super) async fn carry_out<F>(
        &self,
        request: impl FnOnce(Self) -> F,
    ) -> Result<F::Output, BackendError>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = self.link.thread().spawn(request(self.clone()));
        task.await.map_err(|ended| {
            BackendError::unknown("the request ended without an answer").with_source(ended)
        })
    }
}
