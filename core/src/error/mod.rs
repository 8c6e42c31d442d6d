//! Every error that a caller can meet, and the one type they all convert into.

mod acquire;
pub(crate) mod loss;
mod release;

use super::backend::{BackendError, ConnectError};
use super::{
    AdmitError, InvalidKey, InvalidOption, InvalidTicket, InvalidToken, Lost, LostInBody, Stale,
};
pub use acquire::AcquireError;
pub use release::{ConvertError, LockSetReleaseError, ReleaseError, RenewError, ShutdownError};

/// Anything that this crate can answer in place of what was asked.
///
/// What connecting, acquiring, holding and releasing can answer converts into it, so that a function can use `?` throughout.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
///
/// async fn ship(locks: &LockManager) -> Result<u64, leasehold::Error> {
///     let guard = locks.lock("order:42").acquire().await?;
///     let shipped = guard.run(async { 1 }).await?;
///     guard.release().await?;
///     Ok(shipped)
/// }
/// assert_eq!(ship(&LockManager::in_process()).await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The lock was not acquired.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// There is no connection to the backend.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The lock was lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The lock of an annotated function, or of [`Lock::run`](crate::Lock::run), was lost; it says whether the body had
    /// completed.
    #[error(transparent)]
    LostInBody(#[from] LostInBody),
    /// The release is not confirmed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The releases of some of several locks are not confirmed.
    #[error(transparent)]
    ReleaseAll(#[from] LockSetReleaseError),
    /// The lock was not downgraded or handed over.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// What is no handover ticket.
    #[error(transparent)]
    Ticket(#[from] InvalidTicket),
    /// The lease was not renewed.
    #[error(transparent)]
    Renew(#[from] RenewError),
    /// The shutdown left something behind.
    #[error(transparent)]
    Shutdown(#[from] ShutdownError),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A name that cannot be a lock's.
    #[error(transparent)]
    Key(#[from] InvalidKey),
    /// An option that cannot work.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// Something that is not a fencing token.
    #[error(transparent)]
    Token(#[from] InvalidToken),
    /// A write was refused, since a newer holder has been at the resource.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// A fence did not admit.
    #[error(transparent)]
    Admit(#[from] AdmitError),
    /// No manager was named, and none is set.
    #[error(transparent)]
    NoManager(#[from] NoManager),
}

/// No manager is in scope, and no process-wide one is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no lock manager here: run inside `locks.scope(..)`, or call `locks.set_global_default()` at start"
)]
#[non_exhaustive]
pub struct NoManager {}

impl NoManager {
    pub(crate) const fn new() -> Self {
        Self {}
    }
}
