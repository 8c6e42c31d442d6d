//! The future that resolves when a lease ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::engine::Lease;
use crate::{LossReason, runtime};

pin_project! {
    /// Ready when a lease has ended.
    ///
    /// Inside a runtime it has a timer of its own: should the watchdog's task be gone, with its runtime
    /// perhaps, the deadline is noticed all the same.
    pub(crate) struct LeaseEnd {
        lease: Arc<Lease>,
        #[pin]
        told: WaitForCancellationFutureOwned,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl LeaseEnd {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            told: lease.ending().clone().cancelled_owned(),
            timer: runtime::sleep(lease.validity().unwrap_or_default()),
            lease,
        }
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }
}

impl Future for LeaseEnd {
    type Output = LossReason;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<LossReason> {
        let mut this = self.project();
        loop {
            let left = match this.lease.validity() {
                Ok(left) => left,
                Err(reason) => return Poll::Ready(reason),
            };
            if this.told.as_mut().poll(cx).is_ready() {
                // Told between the two looks.
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
