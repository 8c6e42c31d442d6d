//! Where the responses are recorded.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use leasehold_core::{Error, LockHandle};

use super::options::Options;
use super::recorded_response::Recorded;
use crate::Problem;
use crate::limited_acquire::Source;

pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Runs the request under its lock, and returns its response.
pub(super) type Work<'a> =
    Box<dyn FnOnce(LockHandle) -> Boxed<'a, Result<Recorded, NotRecorded>> + Send + 'a>;

/// A request with a key.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) key: String,
    pub(super) fingerprint: Bytes,
    pub(super) options: Arc<Options>,
    /// Whether the handler has tried to record the response.
    #[cfg(feature = "sqlx")]
    pub(super) attempted: Arc<std::sync::atomic::AtomicBool>,
}

/// The reason why a request has no recorded response.
#[derive(Debug)]
pub(super) enum NotRecorded {
    Refused(Problem),
    /// The request ran, and its response or error is not to be recorded.
    Passed,
}

/// Records one response per key.
pub(super) trait Store: fmt::Debug + Send + Sync {
    /// Returns the recorded response of the key. If there is none, runs `work` under the lock of the key, and records
    /// its response.
    fn run<'a>(
        &'a self,
        source: &'a Source,
        call: &'a Call,
        work: Work<'a>,
    ) -> Boxed<'a, Result<Recorded, NotRecorded>>;
}

impl From<Problem> for NotRecorded {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<Error> for NotRecorded {
    fn from(error: Error) -> Self {
        Self::Refused(error.into())
    }
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(problem) => problem.fmt(f),
            Self::Passed => f.write_str("the response is not recorded"),
        }
    }
}
