//! What `run` needs of a guard and its handle, for one lock and for several.
#![cfg_attr(
    not(feature = "macros"),
    allow(unreachable_pub, reason = "what annotated functions call names it")
)]

use std::future::Future;

use futures_util::FutureExt;

use super::kind::{Kind, Releasable};
use crate::{Error, LockGuard, LockHandle, Lost, LostInBody, ReleaseOutcome};

/// What is held while a body runs.
pub trait RunGuard: Send + 'static {
    /// What the body sees of it.
    type Handle: GuardHandle;

    /// What the body sees of it.
    fn view(&self) -> Self::Handle;

    /// Runs `body` as the holder, and drops it when the lock is lost.
    fn run<F: Future>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<F::Output, Lost>> + use<Self, F>;

    /// Runs `body` as the holder, to its end.
    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<Self, F>;

    /// Releases, and says what was lost before.
    fn release(self) -> impl Future<Output = Option<Lost>> + Send;
}

/// A handle of a lock, or of several.
pub trait GuardHandle {
    /// What is lost by now, other than by a release.
    fn loss(&self) -> Option<Lost>;
}

impl<K: Kind> GuardHandle for LockHandle<K> {
    fn loss(&self) -> Option<Lost> {
        let lost = self.lost().now_or_never()?;
        (!lost.reason.is_wanted()).then_some(lost)
    }
}

impl<K: Releasable> RunGuard for LockGuard<K> {
    type Handle = LockHandle<K>;

    fn view(&self) -> LockHandle<K> {
        self.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<K, F> {
        Self::run(self, body)
    }

    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<K, F> {
        self.handle().scope(body)
    }

    async fn release(self) -> Option<Lost> {
        let handle = self.handle();
        match Self::release(self).await {
            Ok(ReleaseOutcome::AlreadyLost(reason)) => Some(handle.lost_for(reason)),
            Ok(ReleaseOutcome::Released) | Err(_) => None,
        }
    }
}

/// Runs a body under what is held, and releases it. A loss is an error, even if the body had completed.
///
/// A release that is not confirmed fails nothing: the body ran under its lock to the end, and the release goes on in the
/// background.
pub(crate) async fn run_under<G: RunGuard, T>(
    guard: G,
    body: impl AsyncFnOnce(G::Handle) -> T,
) -> Result<T, Error> {
    let view = guard.view();
    let output = guard.run(body(guard.view())).await;
    let output = output.map_err(|lost| LostInBody::new(lost, false))?;
    match release_and_report_loss(guard, &view).await {
        Some(lost) => Err(LostInBody::new(lost, true).into()),
        None => Ok(output),
    }
}

/// Releases what a body ran under, and says what was lost before that.
pub(crate) async fn release_and_report_loss<G: RunGuard>(
    guard: G,
    view: &G::Handle,
) -> Option<Lost> {
    match view.loss() {
        // What is lost already may have gone with its backend: nobody waits for that release.
        Some(lost) => Some(lost),
        // On the heap: the body's future is to be the large one.
        None => Box::pin(guard.release()).await.or_else(|| view.loss()),
    }
}
