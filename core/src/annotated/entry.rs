use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::Held;
use super::answer::Verdict;
use crate::grip::Grip;
use crate::{AcquireError, Error, observe};

/// On the heap, so that a function's future stays about as large as its body's.
pub(super) type Acquiring<G> = Pin<Box<dyn Future<Output = Result<G, Error>> + Send>>;

/// A call whose answer is known to have a place for the lock's failure.
#[must_use = "an entry does nothing until it acquires"]
pub struct Entry<R, G> {
    acquiring: Acquiring<G>,
    verdict: Verdict<R>,
}

impl<R, G: Grip> Entry<R, G> {
    pub(super) fn new(acquiring: Acquiring<G>, verdict: Verdict<R>) -> Self {
        Self { acquiring, verdict }
    }

    /// Acquires the lock, or gives the function's answer.
    ///
    /// # Errors
    ///
    /// What the function is to return.
    pub async fn acquire(self) -> Result<Held<R, G>, R> {
        let Self { acquiring, verdict } = self;
        let error = match acquiring.await {
            Ok(guard) => return Ok(Held::new(guard, verdict)),
            Err(error) => error,
        };
        Err(match (error, verdict.skipped) {
            (Error::Acquire(AcquireError::TimedOut { key, .. }), Some(skipped)) => {
                observe::skipped(&key);
                skipped()
            }
            (error, _) => (verdict.refused)(error),
        })
    }
}

impl<R, G> fmt::Debug for Entry<R, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}
