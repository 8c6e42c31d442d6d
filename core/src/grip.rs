//! What is held while a body runs, be it one lock or several.
#![cfg_attr(
    not(feature = "macros"),
    allow(unreachable_pub, reason = "what annotated functions call names it")
)]

use std::future::Future;

use futures_util::FutureExt;

use crate::kind::{Kind, Sole};
use crate::{Error, LockGuard, LockHandle, Lost, LostInBody, ReleaseOutcome};

/// What is held while a body runs.
pub trait Grip: Send + 'static {
    /// What the body sees of it.
    type View: View;

    /// What the body sees of it.
    fn view(&self) -> Self::View;

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
pub trait View {
    /// What is lost by now, other than by a release.
    fn loss(&self) -> Option<Lost>;
}

impl<K: Kind> View for LockHandle<K> {
    fn loss(&self) -> Option<Lost> {
        let lost = self.lost().now_or_never()?;
        (!lost.reason.is_wanted()).then_some(lost)
    }
}

impl<K: Sole> Grip for LockGuard<K> {
    type View = LockHandle<K>;

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
pub(crate) async fn run_under<G: Grip, T>(
    grip: G,
    body: impl AsyncFnOnce(G::View) -> T,
) -> Result<T, Error> {
    let view = grip.view();
    let output = grip.run(body(grip.view())).await;
    let output = output.map_err(|lost| LostInBody::new(lost, false))?;
    match lost_to_the_end(grip, &view).await {
        Some(lost) => Err(LostInBody::new(lost, true).into()),
        None => Ok(output),
    }
}

/// Releases what a body ran under, and says what was lost before that.
pub(crate) async fn lost_to_the_end<G: Grip>(grip: G, view: &G::View) -> Option<Lost> {
    match view.loss() {
        // What is lost already may have gone with its backend: nobody waits for that release.
        Some(lost) => Some(lost),
        // On the heap: the body's future is to be the large one.
        None => Box::pin(grip.release()).await.or_else(|| view.loss()),
    }
}
