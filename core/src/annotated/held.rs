use std::fmt;
use std::future::Future;

use futures_util::FutureExt;

use super::answer::Verdict;
use crate::grip::{Grip, lost_to_the_end};
use crate::{Lost, LostInBody};

/// The lock of a call that runs. `R` is what the function returns.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Held<R, G> {
    grip: G,
    verdict: Verdict<R>,
}

impl<R, G: Grip> Held<R, G> {
    pub(super) fn new(grip: G, verdict: Verdict<R>) -> Self {
        Self { grip, verdict }
    }

    /// What the body sees of its lock.
    #[must_use]
    pub fn handle(&self) -> G::View {
        self.grip.view()
    }

    /// Runs `body` and drops it where it stands when the lock is lost.
    ///
    /// # Errors
    ///
    /// [`Lost`] if the lock was lost before `body` completed.
    pub fn run<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, G, F> {
        self.grip.run(body)
    }

    /// Runs `body` to its end, whatever becomes of the lock.
    ///
    /// # Errors
    ///
    /// None: the loss is noticed by [`release`](Self::release).
    pub fn run_to_end<F: Future<Output = R>>(
        &self,
        body: F,
    ) -> impl Future<Output = Result<R, Lost>> + use<R, G, F> {
        self.grip.run_to_end(body).map(Ok)
    }

    /// Releases the lock, and turns `output` into a failure if it was lost before.
    ///
    /// A release that is not confirmed fails nothing: the body ran under its lock to the end, and the
    /// release goes on in the background.
    pub async fn release(self, output: Result<R, Lost>) -> R {
        let (view, verdict) = (self.grip.view(), self.verdict);
        let answer = match output {
            Ok(answer) => answer,
            Err(lost) => return (verdict.refused)(LostInBody::new(lost, false).into()),
        };
        match lost_to_the_end(self.grip, &view).await {
            Some(lost) if !(verdict.is_failure)(&answer) => {
                (verdict.refused)(LostInBody::new(lost, true).into())
            }
            _ => answer,
        }
    }
}

impl<R, G: fmt::Debug> fmt::Debug for Held<R, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("grip", &self.grip).finish()
    }
}
