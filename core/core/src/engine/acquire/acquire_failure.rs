//! The ends of an acquire without a held lock.

use crate::backend::{BackendError, Outcome};
use crate::{Error, Key, Operation};

/// The reason why an acquire does not hold the lock.
#[derive(Debug)]
pub(crate) enum NotAcquired {
    /// The backend keeps the outcome of an earlier holder. Only an acquire with the flag `once` ends like this.
    Recorded { key: Key, outcome: Outcome },
    /// The acquire failed.
    Failed(Error),
}

impl NotAcquired {
    /// Returns the reason's name in traces and metrics.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Recorded { .. } => "recorded",
            Self::Failed(Error::TimedOut { .. }) => "busy",
            Self::Failed(Error::Closed { .. }) => "closed",
            Self::Failed(Error::Backend { .. }) => "failed",
            Self::Failed(_) => "refused",
        }
    }
}

/// For acquires without the flag `once`.
impl From<NotAcquired> for Error {
    fn from(reason: NotAcquired) -> Self {
        match reason {
            NotAcquired::Failed(error) => error,
            NotAcquired::Recorded { key, outcome } => {
                let message = format!("the backend replied to a lock with {outcome:?}");
                let source = BackendError::unknown(message).permanent();
                Self::backend(Operation::Acquire, key, source)
            }
        }
    }
}
