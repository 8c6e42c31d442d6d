//! The task-local stack of held locks, which detects an acquire that would wait for itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Key;
use super::backend::{Backend, Mode};
use super::engine::Lease;

tokio::task_local! {
    static HOLDING: Option<Arc<HeldFrame>>;
}

/// The locks that a task holds, the innermost first.
struct HeldFrame {
    lease: Arc<Lease>,
    outer: Option<Arc<Self>>,
}

pin_project! {
    /// Runs a body as the holder of leases, in addition to those of the surrounding scopes.
    pub(crate) struct HeldScope<L, F> {
        leases: L,
        #[pin]
        body: F,
        within: HeldContext,
    }
}

pub(crate) fn scope<L, F>(leases: L, body: F) -> HeldScope<L, F> {
    HeldScope {
        leases,
        body,
        within: HeldContext::default(),
    }
}

impl<L: Clone + IntoIterator<Item = Arc<Lease>>, F: Future> Future for HeldScope<L, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let (leases, body) = (this.leases, this.body);
        this.within.step(|| leases.clone(), || body.poll(cx))
    }
}

/// The locks that a task holds while a body is polled.
#[derive(Default)]
pub(crate) struct HeldContext {
    /// The surrounding scopes at the last poll. A body may be polled in different scopes.
    around: Option<Arc<HeldFrame>>,
    all: Option<Arc<HeldFrame>>,
}

impl HeldContext {
    /// Polls as the holder of `leases`, which are the same each time, in addition to the surrounding scopes.
    pub(crate) fn step<L: IntoIterator<Item = Arc<Lease>>, T>(
        &mut self,
        leases: impl FnOnce() -> L,
        step: impl FnOnce() -> T,
    ) -> T {
        let around = HOLDING.try_with(Option::clone).ok().flatten();
        if self.all.is_none() || !is_same(around.as_ref(), self.around.as_ref()) {
            let within = |outer, lease| Some(Arc::new(HeldFrame { lease, outer }));
            self.all = leases().into_iter().fold(around.clone(), within);
            self.around = around;
        }
        HOLDING.sync_scope(self.all.clone(), step)
    }
}

fn is_same(one: Option<&Arc<HeldFrame>>, other: Option<&Arc<HeldFrame>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Returns the mode in which this task holds `key` on `backend` in a scope, if it has not lost it.
pub(crate) fn held(backend: &Arc<dyn Backend>, key: &Key) -> Option<Mode> {
    HOLDING
        .try_with(|holding| {
            let mut next = holding.as_ref();
            while let Some(HeldFrame { lease, outer }) = next.map(Arc::as_ref) {
                if lease.claim.key == *key && lease.is_valid_on(backend) {
                    return Some(lease.claim.mode);
                }
                next = outer.as_ref();
            }
            None
        })
        .unwrap_or_default()
}
