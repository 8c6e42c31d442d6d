//! Random histories of one key with readers, permits and outcomes, in process. See [`leasehold_histories`].
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;
use std::time::Duration;

use leasehold::backend::{Backend, Claim, InProcess};
use leasehold_histories::{Id, Once, Permits, Place, ReadWrite, histories};
use tokio::runtime::Runtime;

histories! {
    300, 3;
    readers_and_writers: ReadWrite, Embedded;
    permits: Permits, Embedded;
    outcomes: Once, Embedded;
}

#[derive(Debug, Clone)]
pub(crate) struct Embedded;

static BACKEND: LazyLock<InProcess> = LazyLock::new(InProcess::new);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut paused = tokio::runtime::Builder::new_current_thread();
    paused.enable_time().start_paused(true).build().unwrap()
});

impl Place for Embedded {
    const IS_LAZY: bool = false;

    type Backend = InProcess;

    fn backend(_who: Id) -> &'static InProcess {
        &BACKEND
    }

    fn run<T>(request: impl Future<Output = T>) -> T {
        RUNTIME.block_on(request)
    }

    /// Shortens the lease of this holder, so that only this lease ends.
    fn end_lease(claim: &Claim) {
        let mut short = claim.clone();
        short.ttl = Duration::from_micros(1);
        Self::run(async {
            BACKEND.renew(&[short]).await;
            tokio::time::advance(Duration::from_micros(1)).await;
        });
    }
}
