//! Defines the trait of fence stores.

use std::fmt;

use async_trait::async_trait;

use crate::AdmitError;
use crate::FencingToken;

/// Remembers the newest token of each resource, and rejects older tokens.
///
/// Use a fence store for resources that cannot compare tokens themselves: a file, an HTTP service, a device. If the
/// resource is a database, compare tokens there, in the statement that writes. An admission alone blocks no other
/// holder: a newer holder may be admitted and write between the admission and the write that follows. So run the
/// resource's writes one at a time, each with its admission.
///
/// Always fence a resource under the same key of the same backend: tokens of different keys or backends cannot be
/// compared.
///
/// # Contract
///
/// This section is for implementers. [`admit`](Self::admit) is one atomic step: it accepts a token that is at least the
/// newest token accepted for the resource, and records it. The store keeps a recorded token, also across restarts if
/// the resource outlives them.
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
    /// Records a token, or rejects it because a newer token was admitted.
    ///
    /// # Errors
    ///
    /// Returns [`AdmitError::Stale`] if a newer token has been admitted, and [`AdmitError::Store`] if the store failed.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have recorded the token. The recorded token affects only older tokens, which are stale
    /// anyway.
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<(), AdmitError>;
}
