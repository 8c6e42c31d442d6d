//! Resolves when the first lock of a set is lost or released.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::Ended;
use crate::engine::{Lease, LeaseEnd};

/// Resolves when one of several leases has ended. Never resolves if the list is empty.
pub(super) struct FirstEnd(Vec<Pin<Box<LeaseEnd>>>);

impl FirstEnd {
    pub(super) fn of<'a>(leases: impl Iterator<Item = &'a Arc<Lease>>) -> Self {
        Self(
            leases
                .map(|lease| Box::pin(LeaseEnd::new(Arc::clone(lease))))
                .collect(),
        )
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        let leases = self.0.iter().map(|ended| ended.lease());
        leases.map(Arc::clone).collect()
    }
}

impl Future for FirstEnd {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        // Check every lease in each poll, because the deadline of any lease may have passed.
        for ended in &mut self.0 {
            if let Poll::Ready(reason) = ended.as_mut().poll(cx) {
                return Poll::Ready(ended.lease().ended(reason));
            }
        }
        Poll::Pending
    }
}

impl fmt::Debug for FirstEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstEnd").finish_non_exhaustive()
    }
}
