//! The errors of `once` that a lock does not have.

use std::error::Error;

use crate::options::MAX_RESULT_BYTES;
use crate::{FencingToken, Key};

/// The result of [`Once::run`](crate::Once::run) cannot be recorded or read, or the body of another caller failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// The body of another caller failed. When [`keep_failure`](crate::Once::keep_failure) has elapsed, the next caller
    /// runs its own body.
    #[error(
        "the body of another caller failed on `{key}` (token {token}); try again later: {message}"
    )]
    Failed {
        /// The key.
        key: Key,
        /// The token under which the body ran.
        token: FencingToken,
        /// The text of the body's error.
        message: String,
    },
    /// The result is larger than [`MAX_RESULT_BYTES`](crate::MAX_RESULT_BYTES). The body has completed, and its result is not recorded.
    #[error(
        "the result of `{key}` has {size} bytes, and at most {MAX_RESULT_BYTES} can be recorded; store it elsewhere, \
         and return its address"
    )]
    TooLarge {
        /// The key.
        key: Key,
        /// The size of the result as JSON, in bytes.
        size: usize,
    },
    /// The result cannot be written as JSON. The body has completed, and its result is not recorded.
    #[error("the result of `{key}` cannot be written as JSON; change its type")]
    Encode {
        /// The key.
        key: Key,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The recorded result has another type.
    #[error(
        "the recorded result of `{key}` has another type; use another key for another type, or call `forget`"
    )]
    Decode {
        /// The key.
        key: Key,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
}
