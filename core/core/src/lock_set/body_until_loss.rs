//! Runs a body while a lock set is held.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::first_lease_end::FirstEnd;
use crate::Lost;
use crate::held_locks_of_task::HeldContext;

pin_project! {
    /// The future of [`LockSetGuard::run`](crate::LockSetGuard::run) and
    /// [`LockSetHandle::run`](crate::LockSetHandle::run).
    #[must_use = "futures do nothing unless awaited"]
    pub struct LockSetRun<F> {
        #[pin]
        body: Option<F>,
        ended: FirstEnd,
        within: HeldContext,
    }
}

impl<F> LockSetRun<F> {
    pub(super) fn new(ended: FirstEnd, body: F) -> Self {
        Self {
            body: Some(body),
            ended,
            within: HeldContext::default(),
        }
    }
}

impl<F: Future> Future for LockSetRun<F> {
    type Output = Result<F::Output, Lost>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // Check for the end of the lease before each poll of the body: after a pause past the deadline, the body must
        // not be polled again.
        if let Poll::Ready(ended) = Pin::new(&mut *this.ended).poll(cx) {
            this.body.set(None);
            return Poll::Ready(Err(ended.into()));
        }
        match this.body.as_pin_mut() {
            Some(body) => {
                let leases = || this.ended.leases();
                this.within.step(leases, || body.poll(cx)).map(Ok)
            }
            None => Poll::Pending,
        }
    }
}

impl<F> fmt::Debug for LockSetRun<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockSetRun").finish_non_exhaustive()
    }
}
