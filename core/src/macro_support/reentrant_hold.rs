//! Runs a body in the reentrancy scope that holds its lock.

use std::future::Future;

use crate::lock::kind::Reentrant;
use crate::lock::run_under::RunGuard;
use crate::{Error, LockGuard, LockHandle, Lost, ReentrancyScope};

/// A reentrant lock, and the scope that holds it.
#[derive(Debug)]
pub struct ReentrantHold {
    pub(super) guard: LockGuard<Reentrant>,
    pub(super) scope: ReentrancyScope,
}

impl RunGuard for ReentrantHold {
    type Handle = LockHandle<Reentrant>;

    fn view(&self) -> LockHandle<Reentrant> {
        self.guard.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<F> {
        self.guard.handle().run_future(self.scope.enter(body))
    }

    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<F> {
        self.scope.enter(self.guard.handle().scope(body))
    }

    async fn release(self) -> Option<Lost> {
        match self.guard.release().await {
            Err(Error::Lost(lost)) => Some(lost),
            Ok(_) | Err(_) => None,
        }
    }
}
