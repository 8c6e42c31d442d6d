//! The error of a fence store.

use std::error::Error;

use super::Stale;
use crate::escaped_text::Shown;

/// A [`FenceStore`](crate::FenceStore) did not admit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// A newer token has been there.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// The store failed. Whether it has noted the token is unknown; asking again with the same token is right.
    #[error("the fence of `{}` cannot be asked", Shown(resource))]
    Store {
        /// What was to be written.
        resource: String,
        /// What the store said.
        source: Box<dyn Error + Send + Sync>,
    },
}
