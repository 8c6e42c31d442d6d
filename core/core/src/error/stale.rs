//! The error for a stale fencing token.

use crate::FencingToken;

/// A write was rejected, because a newer holder of the lock has used the resource.
///
/// Nothing was written. The caller has lost the lock, but may not have detected the loss yet. Abandon the work, or
/// acquire the lock again and start from the current state. Retrying the same write cannot succeed.
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
/// assert_eq!(stale.to_string(), "stale fencing token: the resource has seen 9, and 7 is older");
/// # Ok::<(), leasehold::InvalidToken>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stale fencing token: the resource has seen {current}, and {token} is older")]
pub struct Stale {
    /// The token that was rejected.
    pub token: FencingToken,
    /// The newest token that the resource has seen.
    pub current: FencingToken,
}
