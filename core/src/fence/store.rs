//! The trait of fence stores.

use std::fmt;

use async_trait::async_trait;

use super::AdmitError;
use crate::FencingToken;

/// Remembers the newest token of each resource, and refuses older ones.
///
/// For resources that cannot compare tokens themselves: a file, an HTTP service, a device. A database can, in the
/// same step in which it writes; do it there if you can. An admission by itself holds nobody back: between it and
/// the write that follows a newer holder may be admitted and write. Run the resource's writes one at a time, with
/// the admission inside.
///
/// A resource is fenced under one key, always the same, from one backend: tokens of others do not compare with its own.
///
/// # Contract
///
/// For implementers. [`admit`](Self::admit) is one atomic step: it accepts a token that is at least the newest
/// accepted for the resource, and notes it. A token once noted stays, over restarts too if the resource outlives
/// them.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::{AdmitError, FenceStore, FencingToken, InProcessFenceStore};
///
/// let (older, newer) = (FencingToken::try_from(7)?, FencingToken::try_from(9)?);
/// let fences = InProcessFenceStore::new();
/// fences.admit("file:report", older).await?;
/// fences.admit("file:report", newer).await?;
/// fences.admit("file:report", newer).await?; // one holder may write several times
///
/// let refused = fences.admit("file:report", older).await;
/// assert!(matches!(refused, Err(AdmitError::Stale(stale)) if stale.current == newer));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait FenceStore: fmt::Debug + Send + Sync {
    /// Notes a token, or refuses it because a newer one has been there.
    ///
    /// # Errors
    ///
    /// [`AdmitError::Stale`] if a newer token has been admitted, [`AdmitError::Store`] if the store failed.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have noted the token. That refuses only older ones, and those are stale.
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<(), AdmitError>;
}
