//! Implements what `run` needs from the guard of a lock set.

use std::future::Future;

use super::{LockSetGuard, LockSetHandle};
use crate::lock::run_under::{GuardHandle, RunGuard};
use crate::{Error, Lost};

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
        self.handle().run_future(body)
    }

    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<F> {
        self.handle().scope(body)
    }

    async fn release(self) -> Option<Lost> {
        match Self::release(self).await {
            Err(Error::LockSetRelease(error)) => error.lost.into_iter().next(),
            Ok(()) | Err(_) => None,
        }
    }
}
