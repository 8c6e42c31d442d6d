//! What `run` needs of the guard of a lock set.

use std::future::Future;

use super::{LockSetGuard, LockSetHandle, LockSetReleaseOutcome};
use crate::Lost;
use crate::lock::run_under::{GuardHandle, RunGuard};

impl GuardHandle for LockSetHandle {
    fn loss(&self) -> Option<Lost> {
        self.handles().iter().find_map(GuardHandle::loss)
    }
}

impl RunGuard for LockSetGuard {
    type Handle = LockSetHandle;

    fn view(&self) -> LockSetHandle {
        self.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<F> {
        Self::run(self, body)
    }

    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<F> {
        self.handle().scope(body)
    }

    async fn release(self) -> Option<Lost> {
        let lost = match Self::release(self).await {
            Ok(LockSetReleaseOutcome::Released) => Vec::new(),
            Ok(LockSetReleaseOutcome::AlreadyLost(lost)) => lost,
            Err(error) => error.lost,
        };
        lost.into_iter().next()
    }
}
