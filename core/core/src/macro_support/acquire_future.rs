//! The future that acquires the lock of a call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::HeldCall;
use super::return_value::ReturnMapping;
use crate::lock::run_guard::RunGuard;
use crate::{Error, events};

/// The future that acquires the lock. The box keeps a function's future about as large as the future of its body.
pub(super) type Acquiring<G> = Pin<Box<dyn Future<Output = Result<G, Error>> + Send>>;

/// A call whose return type can hold the lock's error.
#[must_use = "a pending call does nothing until it acquires"]
pub struct PendingCall<R, G> {
    acquiring: Acquiring<G>,
    verdict: ReturnMapping<R>,
}

impl<R, G: RunGuard> PendingCall<R, G> {
    pub(super) fn new(acquiring: Acquiring<G>, verdict: ReturnMapping<R>) -> Self {
        Self { acquiring, verdict }
    }

    /// Acquires the lock.
    ///
    /// # Errors
    ///
    /// Returns the function's return value if the lock was not acquired.
    pub async fn acquire(self) -> Result<HeldCall<R, G>, R> {
        let Self { acquiring, verdict } = self;
        let error = match acquiring.await {
            Ok(guard) => return Ok(HeldCall::new(guard, verdict)),
            Err(error) => error,
        };
        Err(match (error, verdict.skipped) {
            (Error::TimedOut { key, .. }, Some(skipped)) => {
                events::skipped(&key);
                skipped()
            }
            (error, _) => (verdict.refused)(error),
        })
    }
}

impl<R, G> fmt::Debug for PendingCall<R, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall").finish_non_exhaustive()
    }
}
