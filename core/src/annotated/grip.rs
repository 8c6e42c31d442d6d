use std::future::Future;

use futures_util::FutureExt;

use crate::kind::{Kind, Reentrant, Sole};
use crate::{
    LockGuard, LockHandle, LockSetGuard, LockSetHandle, LockSetReleaseOutcome, Lost, OwnerScope,
    ReentrantReleaseOutcome, ReleaseOutcome,
};

/// What a call holds while its body runs.
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

impl View for LockSetHandle {
    fn loss(&self) -> Option<Lost> {
        self.handles().iter().find_map(View::loss)
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

/// A reentrant lock, and the scope that holds it.
#[derive(Debug)]
pub struct InScope {
    pub(super) guard: LockGuard<Reentrant>,
    pub(super) scope: OwnerScope,
}

impl Grip for InScope {
    type View = LockHandle<Reentrant>;

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

impl Grip for LockSetGuard {
    type View = LockSetHandle;

    fn view(&self) -> LockSetHandle {
        self.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<F> {
        Self::run(self, body)
    }

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
