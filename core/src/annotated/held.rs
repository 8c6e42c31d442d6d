use std::fmt;
use std::future::Future;

use futures_util::FutureExt;

use super::answer::Verdict;
use crate::{LockGuard, LockHandle, Lost, LostInBody, ReleaseOutcome};

/// The lock of a call that runs. `R` is what the function returns.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Held<R> {
    guard: LockGuard,
    verdict: Verdict<R>,
}

impl<R> Held<R> {
    pub(super) fn new(guard: LockGuard, verdict: Verdict<R>) -> Self {
        Self { guard, verdict }
    }

    /// What the body sees of its lock.
    #[must_use]
    pub fn handle(&self) -> LockHandle {
        self.guard.handle()
    }

    /// Runs `body` and drops it where it stands when the lock is lost.
    ///
    /// # Errors
    ///
    /// [`Lost`] if the lock was lost before `body` completed.
    pub fn run<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, F> {
        self.guard.run(self.guard.handle().scope(body))
    }

    /// Runs `body` to its end, whatever becomes of the lock.
    ///
    /// # Errors
    ///
    /// None: the loss is noticed by [`release`](Self::release).
    pub fn run_to_end<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, F> {
        self.guard.handle().scope(body).map(Ok)
    }

    /// Releases the lock, and turns `output` into a failure if it was lost before.
    ///
    /// A release that is not confirmed fails nothing: the body ran under its lock to the end, and the
    /// release goes on in the background.
    pub async fn release(self, output: Result<R, Lost>) -> R {
        let (handle, verdict) = (self.guard.handle(), self.verdict);
        let answer = match output {
            Ok(answer) => answer,
            Err(lost) => return (verdict.refused)(LostInBody::new(lost, false).into()),
        };
        // One that is lost already may have gone with its backend: nobody waits for that release.
        let lost = match loss(&handle) {
            Some(lost) => Some(lost),
            // On the heap, as the acquire: the body's future is to be the large one.
            None => match Box::pin(self.guard.release()).await {
                Ok(ReleaseOutcome::AlreadyLost(reason)) => Some(handle.lost_for(reason)),
                Ok(ReleaseOutcome::Released) | Err(_) => loss(&handle),
            },
        };
        match lost {
            Some(lost) if !(verdict.is_failure)(&answer) => {
                (verdict.refused)(LostInBody::new(lost, true).into())
            }
            _ => answer,
        }
    }
}

fn loss(handle: &LockHandle) -> Option<Lost> {
    let lost = handle.lost().now_or_never()?;
    (!lost.reason.is_wanted()).then_some(lost)
}

impl<R> fmt::Debug for Held<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("guard", &self.guard).finish()
    }
}
