//! The error of the blocking API.

use std::io;

/// The blocking API cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockingError {
    /// The thread that renews leases cannot be started.
    #[error("the thread that renews leases cannot be started")]
    Runtime(#[source] io::Error),
    /// The call would block the async runtime that it was made in.
    #[error("`leasehold::blocking` was called inside an async runtime; use the async API there")]
    InsideRuntime,
}
