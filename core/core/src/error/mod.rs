//! The error that every method of this crate returns.

mod admit_error;
mod backend_error;
#[cfg(feature = "blocking")]
mod blocking;
mod connect_error;
pub(crate) mod end;
mod failed_operation;
mod invalid_ticket;
mod no_current_lock;
#[cfg(feature = "once")]
mod once;
mod release;
mod stale;
mod with_causes;

use std::panic::Location;
use std::time::Duration;

use super::{InvalidKey, InvalidOption, InvalidToken, Key, Lost, LostInBody};
pub use admit_error::AdmitError;
pub use backend_error::{Applied, BackendError};
#[cfg(feature = "blocking")]
pub use blocking::BlockingError;
pub use connect_error::ConnectError;
pub use failed_operation::Operation;
pub use invalid_ticket::InvalidTicket;
pub use no_current_lock::NoCurrentLockError;
#[cfg(feature = "once")]
pub use once::OnceError;
pub use release::{LockSetReleaseError, ShutdownError, UnconfirmedRelease};
pub use stale::Stale;
pub use with_causes::WithCauses;

/// The error of every method that connects, acquires, holds or releases.
///
/// One variant with `#[from] leasehold::Error` in your error type is enough to use `?` everywhere.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
///
/// #[derive(Debug, thiserror::Error)]
/// enum ShopError {
///     #[error("order {0} is empty")]
///     Empty(u64),
///     #[error(transparent)]
///     Lock(#[from] leasehold::Error),
/// }
///
/// async fn ship(locks: &LockManager) -> Result<u64, ShopError> {
///     let guard = locks.lock("order:42").acquire().await?;
///     let shipped = guard
///         .run(async |_| if guard.is_valid() { Ok(1) } else { Err(ShopError::Empty(42)) })
///         .await?;
///     guard.release().await?;
///     Ok(shipped)
/// }
///
/// let locks = LockManager::in_process();
/// assert_eq!(ship(&locks).await.unwrap(), 1);
///
/// let _guard = locks.lock("order:42").acquire().await?;
/// let error = ship_without_waiting(&locks).await.unwrap_err();
/// assert!(error.is_busy());
/// # Ok(())
/// # }
/// # async fn ship_without_waiting(locks: &leasehold::LockManager) -> Result<(), leasehold::Error> {
/// #     locks.lock("order:42").wait(std::time::Duration::from_millis(1)).acquire().await.map(drop)
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The lock was busy for the whole wait.
    #[error("acquiring `{key}` timed out: it was still locked after {:?}{}{}", in_millis(*waited), by(holder.as_deref()), here(*acquired_at))]
    TimedOut {
        /// The key of the lock.
        key: Key,
        /// How long the caller waited.
        waited: Duration,
        /// The label of the holder, or its id if it does not have a label. `None` unless the lock has the option
        /// [`report_holder`](crate::Lock::report_holder), and if the lock had become free in the meantime.
        holder: Option<Box<str>>,
        /// Where this manager acquired the lock; `None` if this manager does not hold the lock, or did not wait for it.
        /// For `run`, `accept` and lock sets, this is where the lock, the acceptance or the set was created. For an annotated
        /// function or a layer, this is a place in Leasehold's code. If your own task holds the lock,
        /// release its guard first, or use a [`reentrant`](crate::Lock::reentrant) lock.
        acquired_at: Option<&'static Location<'static>>,
    },
    /// The manager was shut down.
    #[error("acquiring `{key}` failed: the lock manager is shut down")]
    Closed {
        /// The key of the lock.
        key: Key,
    },
    /// The backend failed. An outage is never reported as a busy lock.
    #[error("{operation} `{key}` failed: backend error ({})", operation.after_failure(*applied))]
    Backend {
        /// The operation that failed.
        operation: Operation,
        /// The key of the lock.
        key: Key,
        /// Whether the backend may have carried out the operation. After an acquire with an unknown outcome, a cleanup
        /// runs in the background. The lock is free after the cleanup, or after its TTL.
        applied: Applied,
        /// The last error of the backend.
        source: BackendError,
    },
    /// This task already holds the lock, and would deadlock. While the task held the lock, it called a function that
    /// acquires the same lock. See [`LockGuard::run`](crate::LockGuard::run) and
    /// [`LockHandle::scope`](crate::LockHandle::scope), and [`reentrant`](crate::Lock::reentrant) for locks that can be
    /// acquired again.
    #[error(
        "acquiring `{key}` failed: this task already holds it; call a function that does not lock, or use a reentrant lock"
    )]
    AlreadyHeld {
        /// The key of the lock.
        key: Key,
    },
    /// This task already holds the lock as a reader, and a reader cannot become a writer. Release the read lock,
    /// acquire the write lock, and check again what you have read. Alternatively, acquire the write lock from the start
    /// and [downgrade](crate::LockGuard::downgrade) it.
    #[error(
        "acquiring `{key}` failed: this task holds it as a reader, and a reader cannot become a writer; release it first"
    )]
    Upgrade {
        /// The key of the lock.
        key: Key,
    },
    /// The key is used as a semaphore and a lock was requested, or the reverse.
    #[error("acquiring `{key}` failed: the key is already used as {used_as}; use another key")]
    OtherKind {
        /// The key of the lock.
        key: Key,
        /// How the key is used: as "a lock" or "a semaphore".
        used_as: &'static str,
    },
    /// The ticket was used before, the lease has expired, or the previous holder made another ticket.
    #[error(
        "accepting `{key}` failed: its ticket was already used, or has expired; acquire the lock instead"
    )]
    HandoverSpent {
        /// The key of the lock.
        key: Key,
    },
    /// The backend does not support this operation, this kind of lock, or an option of the lock. See
    /// [`capabilities`](crate::LockManager::capabilities).
    #[error("{operation} `{key}` failed: this backend does not support {what}")]
    Unsupported {
        /// The operation that failed. If it was a downgrade or a handover, the lock is released in the background.
        operation: Operation,
        /// The key of the lock.
        key: Key,
        /// The feature that the backend does not have.
        what: &'static str,
    },
    /// The future was polled outside a tokio runtime.
    #[error("a lock can only be acquired inside a tokio runtime; enter one first")]
    NoRuntime,
    /// The lock was lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The lock of an annotated function, or of [`Lock::run`](crate::Lock::run), was lost. The error states whether the
    /// body had completed.
    #[error(transparent)]
    LostInBody(#[from] LostInBody),
    /// The release is not confirmed, and continues in the background.
    #[error(transparent)]
    Unconfirmed(#[from] UnconfirmedRelease),
    /// Some of several locks were lost, or their releases are not confirmed.
    #[error(transparent)]
    LockSetRelease(#[from] LockSetReleaseError),
    /// Connecting to the backend failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The text is not a handover ticket.
    #[error(transparent)]
    Ticket(#[from] InvalidTicket),
    /// The shutdown could not confirm every release in time.
    #[error(transparent)]
    Shutdown(#[from] ShutdownError),
    /// The key is not valid.
    #[error(transparent)]
    Key(#[from] InvalidKey),
    /// An option is not valid.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// The cron expression is not valid.
    #[cfg(feature = "cron")]
    #[cfg_attr(docsrs, doc(cfg(feature = "cron")))]
    #[error(transparent)]
    Schedule(#[from] crate::InvalidSchedule),
    /// The number is not a fencing token.
    #[error(transparent)]
    Token(#[from] InvalidToken),
    /// The resource rejected a write, because a newer holder has written to it.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// A fence did not admit a token.
    #[error(transparent)]
    Admit(#[from] AdmitError),
    /// No manager was given, and no default is set.
    #[error(
        "no lock manager is set: run inside `locks.as_default(..)`, or call `locks.set_global_default()` at startup"
    )]
    NoManager,
    /// The process already has a default manager, which was not replaced.
    #[error(
        "this process has a default lock manager already; set it once, at startup, and use `as_default` elsewhere"
    )]
    DefaultAlreadySet,
    /// No lock whose token can be used is current: see [`NoCurrentLockError`].
    #[error(transparent)]
    NoCurrentLock(#[from] NoCurrentLockError),
    /// The result of `once` cannot be recorded or read, or the body of another caller failed.
    #[cfg(feature = "once")]
    #[cfg_attr(docsrs, doc(cfg(feature = "once")))]
    #[error(transparent)]
    Once(#[from] OnceError),
    /// The blocking API cannot be used.
    #[cfg(feature = "blocking")]
    #[cfg_attr(docsrs, doc(cfg(feature = "blocking")))]
    #[error(transparent)]
    Blocking(#[from] BlockingError),
}

/// Rounds down to whole milliseconds.
fn in_millis(waited: Duration) -> Duration {
    Duration::from_millis(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX))
}

/// Returns the end of a message, which names the holder of a lock.
fn by(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(", by {holder}"))
}

/// Returns the end of a message about a lock that the caller's own manager holds.
fn here(acquired_at: Option<&Location<'_>>) -> String {
    acquired_at.map_or_else(String::new, |place| {
        format!(
            "; it is held by this manager, acquired at {}:{}",
            place.file(),
            place.line()
        )
    })
}

impl Error {
    /// Returns whether the lock was busy for the whole wait.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::TimedOut { .. })
    }

    /// Returns whether a lock was lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_) | Self::LostInBody(_) => true,
            Self::LockSetRelease(error) => !error.lost.is_empty(),
            _ => false,
        }
    }

    /// Returns whether the same call may succeed later: the lock was busy, the backend had a temporary fault or could not
    /// be reached, or the body of another caller failed. Returns false if a body has completed and only its record failed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            // The body has completed, so the same call would run it again.
            Self::Backend {
                operation: Operation::Record,
                ..
            } => false,
            Self::Backend { source, .. } => source.is_temporary(),
            Self::Connect(error) => error.is_temporary(),
            #[cfg(feature = "once")]
            Self::Once(OnceError::Failed { .. }) => true,
            _ => false,
        }
    }

    pub(crate) fn backend(operation: Operation, key: Key, source: BackendError) -> Self {
        Self::Backend {
            operation,
            key,
            applied: source.applied(),
            source,
        }
    }
}
