//! State that all operations of the backend use.

use std::future::Future;
use std::sync::Arc;

use super::attempt_registry::AttemptRegistry;
use super::current_session::CurrentSession;
use leasehold_core::backend::BackendError;

/// The state that requests need.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) link: Arc<CurrentSession>,
    pub(super) registry: Arc<AttemptRegistry>,
}

impl Context {
    /// Waits a while for a session, so that a request to create a node does not have to wait. A waiting request would
    /// continue after its caller was dropped, and could create the node after the cleanup.
    pub(super) async fn until_settled(&self) -> Result<(), BackendError> {
        if self.link.is_settled() {
            return Ok(());
        }
        let settled = async move |parts: Self| parts.link.settled().await;
        self.carry_out(settled).await
    }

    /// Executes a request on the link's thread, to its end, even if the caller is not polled or was dropped. A session
    /// does not end while a request uses it, and an attempt does not end while a request about it is in progress.
    pub(super) async fn carry_out<F>(
        &self,
        request: impl FnOnce(Self) -> F,
    ) -> Result<F::Output, BackendError>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = self.link.thread().spawn(request(self.clone()));
        task.await.map_err(|ended| {
            BackendError::unknown("the request ended without a reply").with_source(ended)
        })
    }
}
