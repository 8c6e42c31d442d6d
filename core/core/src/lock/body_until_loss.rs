//! Runs a body while a lock is held.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::Lost;
use crate::engine::{Lease, LeaseEnd};
use crate::held_locks_of_task::HeldContext;

pin_project! {
    /// Polls a body while its lock is held, and drops it when the lock is lost.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RunFuture<F> {
        lease: Arc<Lease>,
        #[pin]
        body: Option<F>,
        // Created when the body first waits: many bodies complete in their first poll.
        #[pin]
        ended: Option<LeaseEnd>,
        within: HeldContext,
    }
}

impl<F> RunFuture<F> {
    pub(crate) fn new(lease: &Arc<Lease>, body: F) -> Self {
        Self {
            lease: Arc::clone(lease),
            body: Some(body),
            ended: None,
            within: HeldContext::default(),
        }
    }
}

impl<F: Future> Future for RunFuture<F> {
    type Output = Result<F::Output, Lost>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // Check for the end of the lease before each poll of the body: after a pause past the deadline, the body must
        // not be polled again.
        let reason = match this.lease.validity() {
            Err(reason) => reason,
            Ok(_) => {
                let Some(body) = this.body.as_mut().as_pin_mut() else {
                    return Poll::Pending;
                };
                let leases = || [Arc::clone(this.lease)];
                if let Poll::Ready(output) = this.within.step(leases, || body.poll(cx)) {
                    return Poll::Ready(Ok(output));
                }
                if this.ended.is_none() {
                    this.ended.set(Some(LeaseEnd::new(Arc::clone(this.lease))));
                }
                match this.ended.as_pin_mut() {
                    Some(ended) => ready!(ended.poll(cx)),
                    None => return Poll::Pending,
                }
            }
        };
        this.body.set(None);
        Poll::Ready(Err(this.lease.lost(reason)))
    }
}

impl<F> fmt::Debug for RunFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFuture").finish_non_exhaustive()
    }
}
