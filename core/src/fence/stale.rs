//! The error for a stale fencing token.

use crate::FencingToken;

/// A write was refused: a newer holder of the lock has been at the resource.
///
/// Nothing was written. Whoever gets this has lost the lock, perhaps without having been told yet: give up the
/// work, or acquire anew and start from what is there now. Sending the same again cannot succeed.
///
/// # Examples
///
/// ```
/// use leasehold::{FencingToken, Stale};
///
/// let stale = Stale {
///     token: FencingToken::try_from(7)?,
///     current: FencingToken::try_from(9)?,
/// };
/// assert_eq!(stale.to_string(), "stale: the resource has seen token 9, and 7 is older");
/// # Ok::<(), leasehold::InvalidToken>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stale: the resource has seen token {current}, and {token} is older")]
pub struct Stale {
    /// The token that was refused.
    pub token: FencingToken,
    /// The newest that the resource has seen.
    pub current: FencingToken,
}
