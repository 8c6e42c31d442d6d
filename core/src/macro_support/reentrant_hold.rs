//! Runs a body in the reentrancy scope of its lock.

use std::future::Future;

use crate::lock::kind::Reentrant;
use crate::lock::run_under::RunGuard;
use crate::{LockGuard, LockHandle, Lost, OwnerScope, ReentrantReleaseOutcome};

/// A reentrant lock, and the scope that holds it.
#[derive(Debug)]
pub struct ReentrantHold {
    pub(super) guard: LockGuard<Reentrant>,
    pub(super) scope: OwnerScope,
}

impl RunGuard for ReentrantHold {
    type Handle = LockHandle<Reentrant>;

    fn view(&self) -> LockHandle<Reentrant> {
        self.guard.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<F> {
        self.guard.run(self.scope.enter(body))
    }

    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<F> {
        self.scope.enter(self.guard.handle().scope(body))
    }

    async fn release(self) -> Option<Lost> {
        let handle = self.guard.handle();
        match self.guard.release().await {
            Ok(ReentrantReleaseOutcome::AlreadyLost(reason)) => Some(handle.lost_for(reason)),
            Ok(ReentrantReleaseOutcome::Released | ReentrantReleaseOutcome::StillHeld) | Err(_) => {
                None
            }
        }
    }
}
