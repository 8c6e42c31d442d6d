//! A call that holds its lock: it runs the body, then releases the lock.

use std::fmt;
use std::future::Future;

use futures_util::FutureExt;

use super::return_value::ReturnMapping;
use crate::lock::run_guard::RunGuard;
use crate::{Lost, LostInBody};

/// A call that holds its lock. `R` is the return type of the function.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct HeldCall<R, G> {
    guard: G,
    verdict: ReturnMapping<R>,
}

impl<R, G: RunGuard> HeldCall<R, G> {
    pub(super) fn new(guard: G, verdict: ReturnMapping<R>) -> Self {
        Self { guard, verdict }
    }

    /// Returns the handle that the body can use.
    #[must_use]
    pub fn handle(&self) -> G::Handle {
        self.guard.view()
    }

    /// Runs `body`, and drops it at its current `.await` if the lock is lost.
    ///
    /// # Errors
    ///
    /// Returns [`Lost`] if the lock was lost before `body` completed.
    pub fn run<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, G, F> {
        self.guard.run(body)
    }

    /// Runs `body` to its end, even if the lock is lost.
    ///
    /// # Errors
    ///
    /// Never returns an error: [`release`](Self::release) reports the loss.
    pub fn run_to_end<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, G, F> {
        self.guard.run_to_end(body).map(Ok)
    }

    /// Releases the lock. Returns an error instead of a successful `output` if the lock was lost before.
    ///
    /// Ignores an unconfirmed release, because the body held the lock to its end. The release continues in the
    /// background.
    pub async fn release(self, output: Result<R, Lost>) -> R {
        let verdict = self.verdict;
        let answer = match output {
            Ok(answer) => answer,
            Err(lost) => return (verdict.refused)(LostInBody::new(lost, false).into()),
        };
        // The release is boxed, so that this future is hardly larger than the body's future.
        match Box::pin(self.guard.release()).await {
            Some(lost) if !(verdict.is_failure)(&answer) => {
                (verdict.refused)(LostInBody::new(lost, true).into())
            }
            _ => answer,
        }
    }
}

impl<R, G: fmt::Debug> fmt::Debug for HeldCall<R, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldCall")
            .field("guard", &self.guard)
            .finish()
    }
}
