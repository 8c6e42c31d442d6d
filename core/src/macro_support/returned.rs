//! Maps the outcome of a locked call to the function's return type.

use crate::Error;

/// What an annotated function may return: the traits decide, not the name, so that aliases work.
#[diagnostic::on_unimplemented(
    message = "a function with `#[distributed_lock]` returns a `Result`, not `{Self}`",
    label = "has no place for the lock's own failure",
    note = "write `Result<{Self}, E>`, where `E` is `leasehold::Error` or has `From<leasehold::Error>`"
)]
pub trait LockedReturn: Sealed {
    /// The answer of a function whose body did not run, or did not count.
    fn refused(error: Error) -> Self;

    /// Whether the body failed by itself. Its own error is never masked.
    fn is_failure(&self) -> bool;
}

impl<T, E: FromLockError> LockedReturn for Result<T, E> {
    fn refused(error: Error) -> Self {
        Err(E::from_lock_error(error))
    }

    fn is_failure(&self) -> bool {
        self.is_err()
    }
}

/// `From<leasehold::Error>`, with a message of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry the lock's own failure",
    label = "has no `From<leasehold::Error>`",
    note = "write `impl From<leasehold::Error> for {Self}`, with `thiserror` a variant `Lock(#[from] leasehold::Error)`",
    note = "or return `leasehold::Error`, `anyhow::Error`, `eyre::Report` or `Box<dyn std::error::Error + Send + Sync>`"
)]
pub trait FromLockError {
    /// The lock's failure as the function's own error.
    fn from_lock_error(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> FromLockError for E {
    fn from_lock_error(error: Error) -> Self {
        error.into()
    }
}

/// What a function with `contended = skip` may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the call was skipped",
    label = "`contended = skip` needs `Result<Option<T>, E>` or `Result<(), E>`",
    note = "wrap the value in an `Option`, which is `None` when the lock was busy, or write `contended = error`"
)]
pub trait Skippable: Sealed {
    /// The answer of a call that found its lock busy.
    fn skipped() -> Self;
}

impl<T, E> Skippable for Result<Option<T>, E> {
    fn skipped() -> Self {
        Ok(None)
    }
}

impl<E> Skippable for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

/// What is to be known of an answer, apart from its traits.
pub(super) struct ReturnMapping<R> {
    pub(super) refused: fn(Error) -> R,
    pub(super) is_failure: fn(&R) -> bool,
    /// `None` where a busy lock is a failure.
    pub(super) skipped: Option<fn() -> R>,
}

impl<R: LockedReturn> ReturnMapping<R> {
    pub(super) fn of(skipped: Option<fn() -> R>) -> Self {
        Self {
            refused: R::refused,
            is_failure: R::is_failure,
            skipped,
        }
    }
}

pub trait Sealed {}

impl<T, E> Sealed for Result<T, E> {}
