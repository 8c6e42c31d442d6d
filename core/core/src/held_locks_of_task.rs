//! The task-local stack of held locks. The crate uses it to detect self-deadlocks and to find the current lock.

use std::future::Future;
use std::iter::successors;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use smallvec::SmallVec;

use super::Key;
use super::backend::{Backend, Mode};
use super::engine::Lease;

tokio::task_local! {
    static HOLDING: Option<Arc<HeldFrame>>;
}

/// A lock that a task holds, and the locks of the surrounding scopes.
pub(crate) struct HeldFrame {
    pub(crate) lease: Arc<Lease>,
    /// Whether the same scope holds further locks, as for a lock set.
    pub(crate) is_of_set: bool,
    /// Whether the token of this lock may fence writes.
    is_fence: bool,
    outer: Option<Arc<Self>>,
}

pin_project! {
    /// Runs a body as the holder of leases, in addition to the leases of the surrounding scopes.
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

/// Runs a body as the holder of leases whose tokens must not fence its writes, also if it is inside another scope of
/// them.
pub(crate) fn scope_without_fence<L, F>(leases: L, body: F) -> HeldScope<L, F> {
    let within = HeldContext {
        is_no_fence: true,
        ..HeldContext::default()
    };
    HeldScope {
        leases,
        body,
        within,
    }
}

/// Runs a closure as the holder of a lease.
pub(crate) fn enter<T>(lease: &Arc<Lease>, body: impl FnOnce() -> T) -> T {
    HeldContext::default().step(|| [Arc::clone(lease)], body)
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
    is_no_fence: bool,
}

impl HeldContext {
    /// Runs `step` as the holder of `leases`, in addition to the leases of the surrounding scopes. Each call must pass
    /// the same leases.
    pub(crate) fn step<L: IntoIterator<Item = Arc<Lease>>, T>(
        &mut self,
        leases: impl FnOnce() -> L,
        step: impl FnOnce() -> T,
    ) -> T {
        let around = HOLDING.try_with(Option::clone).ok().flatten();
        if self.all.is_none() || !is_same(around.as_ref(), self.around.as_ref()) {
            let leases = leases().into_iter();
            let is_of_set = leases.size_hint().0 > 1;
            let is_fence = !self.is_no_fence;
            let within = |outer, lease| {
                Some(Arc::new(HeldFrame {
                    lease,
                    is_of_set,
                    is_fence,
                    outer,
                }))
            };
            self.all = leases.fold(around.clone(), within);
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

/// Returns the locks that this task holds, the innermost first.
pub(crate) fn frames() -> impl Iterator<Item = Arc<HeldFrame>> {
    let innermost = HOLDING.try_with(Option::clone).ok().flatten();
    successors(innermost, |frame| frame.outer.clone())
}

/// Returns the locks that this task holds and whose tokens may fence writes, the innermost first.
pub(crate) fn fencing_frames() -> impl Iterator<Item = Arc<HeldFrame>> {
    let mut others: SmallVec<[Arc<Lease>; 1]> = SmallVec::new();
    frames().filter(move |frame| {
        if !frame.is_fence {
            others.push(Arc::clone(&frame.lease));
        }
        !others.iter().any(|it| Arc::ptr_eq(it, &frame.lease))
    })
}

/// Returns the mode in which this task holds `key` on `backend` in a scope, or `None` if the task does not hold the
/// lock or has lost it.
pub(crate) fn held(backend: &Arc<dyn Backend>, key: &Key) -> Option<Mode> {
    let is_it = |lease: &Lease| lease.claim.key == *key && lease.is_valid_on(backend);
    let held = frames().find(|frame| is_it(&frame.lease));
    held.map(|frame| frame.lease.claim.mode)
}
