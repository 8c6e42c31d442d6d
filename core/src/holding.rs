//! What the current task says that it holds, so that it is told when it would wait for itself.

use std::future::Future;
use std::sync::Arc;

use futures_util::{FutureExt, future};

use crate::Key;
use crate::backend::{Backend, Mode};
use crate::engine::Lease;

tokio::task_local! {
    static HOLDING: Option<Arc<Holding>>;
}

/// The locks of a task, the innermost first.
struct Holding {
    lease: Arc<Lease>,
    outer: Option<Arc<Self>>,
}

/// Runs `body` as the holder of `leases`, beside what the task holds already.
pub(crate) fn scope<L: IntoIterator<Item = Arc<Lease>>, F: Future>(
    leases: L,
    body: F,
) -> impl Future<Output = F::Output> + use<L, F> {
    // What is around it is seen when it is first polled. No `async` block, which would keep the body twice.
    future::lazy(move |_| HOLDING.scope(beside_what_is_around(leases), body)).flatten()
}

fn beside_what_is_around(leases: impl IntoIterator<Item = Arc<Lease>>) -> Option<Arc<Holding>> {
    let around = HOLDING.try_with(Option::clone).ok().flatten();
    let within = |outer, lease| Some(Arc::new(Holding { lease, outer }));
    leases.into_iter().fold(around, within)
}

/// What a task holds in the steps of a body, beside what it holds when it takes the first of them.
#[derive(Default)]
pub(crate) struct Within(Option<Arc<Holding>>);

impl Within {
    /// Takes a step as the holder of `leases`, which are the same each time.
    pub(crate) fn step<L: IntoIterator<Item = Arc<Lease>>, T>(
        &mut self,
        leases: impl FnOnce() -> L,
        step: impl FnOnce() -> T,
    ) -> T {
        if self.0.is_none() {
            self.0 = beside_what_is_around(leases());
        }
        HOLDING.sync_scope(self.0.clone(), step)
    }
}

/// How this task, by what it said, holds `key` on `backend`, if it has not lost it.
pub(crate) fn held(backend: &Arc<dyn Backend>, key: &Key) -> Option<Mode> {
    HOLDING
        .try_with(|holding| {
            let mut next = holding.as_ref();
            while let Some(Holding { lease, outer }) = next.map(Arc::as_ref) {
                if lease.claim.key == *key && lease.is_valid_on(backend) {
                    return Some(lease.claim.mode);
                }
                next = outer.as_ref();
            }
            None
        })
        .unwrap_or_default()
}
