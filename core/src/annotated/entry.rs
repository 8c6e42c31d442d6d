use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::Held;
use super::answer::Verdict;
use crate::{AcquireError, Error, LockGuard, observe};

/// On the heap, so that a function's future stays about as large as its body's.
pub(super) type Acquiring = Pin<Box<dyn Future<Output = Result<LockGuard, Error>> + Send>>;

/// A call whose answer is known to have a place for the lock's failure.
#[must_use = "an entry does nothing until it acquires"]
pub struct Entry<R> {
    acquiring: Acquiring,
    verdict: Verdict<R>,
}

impl<R> Entry<R> {
    pub(super) fn new(acquiring: Acquiring, verdict: Verdict<R>) -> Self {
        Self { acquiring, verdict }
    }

    /// Acquires the lock, or gives the function's answer.
    ///
    /// # Errors
    ///
    /// What the function is to return.
    pub async fn acquire(self) -> Result<Held<R>, R> {
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

impl<R> fmt::Debug for Entry<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}
