//! Implements what `run` needs from the guard of a lock set.

use std::future::Future;

use super::{LockSetGuard, LockSetHandle};
use crate::lock::run_guard::RunGuard;
use crate::{Error, LockHandle, Lost};

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
        let handle = self.handle();
        let mut ends = handle.handles().iter().filter_map(LockHandle::end);
        if let Some(lost) = ends.find(|lost| !lost.reason.is_voluntary()) {
            return Some(lost);
        }
        match Self::release(self).await {
            Err(Error::LockSetRelease(error)) => error.lost.into_iter().next(),
            Ok(()) | Err(_) => None,
        }
    }
}
