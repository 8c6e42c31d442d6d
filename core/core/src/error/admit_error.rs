//! The error of a fence store.

use std::error::Error;

use super::Stale;
use crate::escaped_text::Shown;

/// The error of [`FenceStore::admit`](crate::FenceStore::admit).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// A newer token was already admitted.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// The store failed. It may or may not have recorded the token; retrying with the same token is safe.
    #[error(
        "fence store failed for `{}`; the token may or may not be recorded",
        Shown(resource)
    )]
    Store {
        /// The resource that was to be written.
        resource: String,
        /// The error of the store.
        source: Box<dyn Error + Send + Sync>,
    },
}
