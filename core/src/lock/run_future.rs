//! Runs a body while a lock is held.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::Lost;
use crate::engine::{Lease, LeaseEnd};
use crate::held_context::HeldContext;

pin_project! {
    /// Polls a body while its lock is held, and drops it when the lock is lost.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RunFuture<F> {
        #[pin]
        body: Option<F>,
        #[pin]
        ended: LeaseEnd,
        within: HeldContext,
    }
}

impl<F> RunFuture<F> {
    pub(crate) fn new(lease: &Arc<Lease>, body: F) -> Self {
        Self {
            body: Some(body),
            ended: LeaseEnd::new(Arc::clone(lease)),
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
        if let Poll::Ready(reason) = this.ended.as_mut().poll(cx) {
            this.body.set(None);
            return Poll::Ready(Err(this.ended.lease().lost(reason)));
        }
        match this.body.as_pin_mut() {
            Some(body) => {
                let leases = || [Arc::clone(this.ended.lease())];
                this.within.step(leases, || body.poll(cx)).map(Ok)
            }
            None => Poll::Pending,
        }
    }
}

impl<F> fmt::Debug for RunFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFuture").finish_non_exhaustive()
    }
}
