//! Maps the outcome of a call to the function's return type.

use crate::Error;

/// The return types of annotated functions. A trait checks the type, not its name, so that aliases work.
#[diagnostic::on_unimplemented(
    message = "a function with `#[distributed_lock]` returns a `Result`, not `{Self}`",
    label = "cannot return the lock's error",
    note = "write `Result<{Self}, E>`, where `E` is `leasehold::Error` or has `From<leasehold::Error>`"
)]
pub trait LockedReturn: SealedReturn {
    /// Returns the return value for a body that did not run, or whose result is discarded.
    fn refused(error: Error) -> Self;

    /// Returns whether the body itself failed. Its error is never replaced.
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

/// Converts the lock's error like `From<leasehold::Error>`. This separate trait has its own compile error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the lock's error",
    label = "has no `From<leasehold::Error>`",
    note = "write `impl From<leasehold::Error> for {Self}`, with `thiserror` a variant `Lock(#[from] leasehold::Error)`",
    note = "or return `leasehold::Error`, `anyhow::Error`, `eyre::Report` or `Box<dyn std::error::Error + Send + Sync>`"
)]
pub trait FromLockError {
    /// Converts the lock's error into the function's error.
    fn from_lock_error(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> FromLockError for E {
    fn from_lock_error(error: Error) -> Self {
        error.into()
    }
}

/// The return types of functions with `contended = "skip"`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the call was skipped",
    label = "`contended = \"skip\"` needs `Result<Option<T>, E>` or `Result<(), E>`",
    note = "wrap the value in an `Option`, which is `None` when the lock was busy, or write `contended = \"error\"`"
)]
pub trait Skippable: SealedReturn {
    /// Returns the return value of a skipped call.
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

/// The trait methods of a return type, as function pointers.
pub(super) struct ReturnMapping<R> {
    pub(super) refused: fn(Error) -> R,
    pub(super) is_failure: fn(&R) -> bool,
    /// `None` if the call returns an error for a busy lock.
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

pub trait SealedReturn {}

impl<T, E> SealedReturn for Result<T, E> {}
