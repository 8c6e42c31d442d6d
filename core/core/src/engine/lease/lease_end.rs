//! The future that resolves when a lease ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::EndReason;
use crate::engine::Lease;
use crate::runtime;

pin_project! {
    /// Resolves when a lease has ended.
    ///
    /// Inside a runtime this future has its own timer. So it detects the deadline even if the watchdog's task has
    /// ended, for example with its runtime.
    pub(crate) struct LeaseEnd {
        lease: Arc<Lease>,
        #[pin]
        cancelled: WaitForCancellationFutureOwned,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl LeaseEnd {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            cancelled: lease.ending().clone().cancelled_owned(),
            timer: runtime::sleep(lease.validity().unwrap_or_default()),
            lease,
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
            if this.cancelled.as_mut().poll(cx).is_ready() {
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
