//! The runtime of a blocking manager.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::error::BlockingError;
use crate::runtime::in_runtime;

/// A runtime with one thread, which renews leases and reads replies while no call is in progress.
#[derive(Debug)]
pub(super) struct BlockingRuntime(Option<Runtime>);

impl BlockingRuntime {
    pub(super) fn start() -> Result<Arc<Self>, BlockingError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("leasehold")
            .enable_all()
            .build()
            .map_err(BlockingError::Runtime)?;
        Ok(Arc::new(Self(Some(runtime))))
    }

    /// Blocks this thread until `future` is ready.
    pub(super) fn block_on<F: Future>(&self, future: F) -> Result<F::Output, BlockingError> {
        match &self.0 {
            Some(runtime) if !in_runtime() => Ok(runtime.block_on(future)),
            _ => Err(BlockingError::InsideRuntime),
        }
    }
}

impl Drop for BlockingRuntime {
    fn drop(&mut self) {
        // A runtime that waits for its tasks must not be dropped inside another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
