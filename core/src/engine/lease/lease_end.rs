//! The future that resolves when a lease ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::engine::Lease;
use crate::{EndReason, runtime};

pin_project! {
    /// Resolves when a lease has ended.
    ///
    /// Inside a runtime this future has its own timer. So it detects the deadline even if the watchdog's task has
    /// ended, for example with its runtime.
    pub(crate) struct LeaseEnd {
        lease: Arc<Lease>,
        // Created by the first poll that has to wait.
        #[pin]
        cancelled: Option<WaitForCancellationFutureOwned>,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl LeaseEnd {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            cancelled: None,
            timer: None,
        }
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }
}

impl Future for LeaseEnd {
    type Output = EndReason;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<EndReason> {
        let mut this = self.project();
        loop {
            let left = match this.lease.validity() {
                Ok(left) => left,
                Err(reason) => return Poll::Ready(reason),
            };
            if this.cancelled.is_none() {
                let cancelled = this.lease.ending().clone().cancelled_owned();
                this.cancelled.set(Some(cancelled));
                this.timer.set(runtime::sleep(left));
            }
            if let Some(cancelled) = this.cancelled.as_mut().as_pin_mut()
                && cancelled.poll(cx).is_ready()
            {
                // The lease ended between the two checks.
                continue;
            }
            let Some(timer) = this.timer.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            if timer.poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.timer.set(runtime::sleep(left));
        }
    }
}
