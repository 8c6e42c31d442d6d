//! Defines what `run` needs from a guard and its handle, for single locks and for lock sets.
#![cfg_attr(
    not(feature = "macros"),
    allow(
        unreachable_pub,
        reason = "named in the expansion of annotated functions"
    )
)]

use std::future::Future;

use super::kind::Releasable;
use crate::{Error, LockGuard, LockHandle, Lost, LostInBody};

/// A guard under which a body runs.
pub trait RunGuard: Send + 'static {
    /// The handle that the body receives.
    type Handle;

    /// Returns the handle that the body receives.
    fn view(&self) -> Self::Handle;

    /// Runs `body` as the holder, and drops it when the lock is lost.
    fn run<F: Future>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<F::Output, Lost>> + use<Self, F>;

    /// Runs `body` as the holder, to its end.
    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<Self, F>;

    /// Releases the guard, and returns the loss if the lock was lost before. Does not wait for the release of a lost lock,
    /// because the backend may be down.
    fn release(self) -> impl Future<Output = Option<Lost>> + Send;
}

impl<K: Releasable> RunGuard for LockGuard<K> {
    type Handle = LockHandle<K>;

    fn view(&self) -> LockHandle<K> {
        self.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<K, F> {
        self.handle().run_future(body)
    }

    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<K, F> {
        self.handle().scope(body)
    }

    async fn release(self) -> Option<Lost> {
        match Self::release(self).await {
            Err(Error::Lost(lost)) => Some(lost),
            Ok(()) | Err(_) => None,
        }
    }
}

/// Runs a body under a guard, and then releases the guard. Returns an error if the lock was lost, even if the body had
/// completed.
///
/// Ignores an unconfirmed release, because the body ran under its lock to the end. The release continues in the
/// background.
pub(crate) async fn run_under<G: RunGuard, T, E: From<Error>>(
    guard: G,
    body: impl AsyncFnOnce(G::Handle) -> Result<T, E>,
) -> Result<T, E> {
    let output = match guard.run(body(guard.view())).await {
        Ok(output) => output,
        Err(lost) => return Err(Error::from(LostInBody::new(lost, false)).into()),
    };
    release_after(guard, output).await
}

/// Releases the guard that a body completed under. If the lock was lost before, a successful output becomes an error.
pub(super) async fn release_after<G: RunGuard, T, E: From<Error>>(
    guard: G,
    output: Result<T, E>,
) -> Result<T, E> {
    // The release is boxed, so that this future is hardly larger than the body's future.
    match Box::pin(guard.release()).await {
        Some(lost) if output.is_ok() => Err(Error::from(LostInBody::new(lost, true)).into()),
        _ => output,
    }
}
