//! The outcome of a body that ran under its lock, as a backend keeps it.

use std::fmt;

use crate::FencingToken;

/// The outcome of a body that ran under its lock. A backend keeps the outcome for attempts with the flag
/// [`once`](super::Attempt::once).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The token under which the body ran.
    pub token: FencingToken,
    /// Whether the body failed.
    pub failed: bool,
    /// The result, or the text of the error, as the manager has encoded it.
    pub bytes: Vec<u8>,
}

impl Outcome {
    /// Creates an outcome.
    #[must_use]
    pub const fn new(token: FencingToken, failed: bool, bytes: Vec<u8>) -> Self {
        Self {
            token,
            failed,
            bytes,
        }
    }
}

impl fmt::Debug for Outcome {
    /// Writes the size of the result, because a result may be large or secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("token", &self.token)
            .field("failed", &self.failed)
            .field("bytes", &format_args!("[{} bytes]", self.bytes.len()))
            .finish()
    }
}
