//! The manager of an attribute.

use std::sync::Arc;

use crate::LockManager;

/// The types that `manager = ..` accepts.
#[diagnostic::on_unimplemented(
    message = "`manager` is a `LockManager`, not `{Self}`",
    label = "not a `leasehold::LockManager`",
    note = "write an expression of type `LockManager` or `&LockManager`, as in `manager = self.locks`"
)]
pub trait AsManager {
    /// Returns the manager.
    fn as_manager(&self) -> &LockManager;
}

impl AsManager for LockManager {
    fn as_manager(&self) -> &LockManager {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<M: AsManager + ?Sized> AsManager for &M {
    fn as_manager(&self) -> &LockManager {
        M::as_manager(self)
    }
}

#[diagnostic::do_not_recommend]
impl<M: AsManager + ?Sized> AsManager for Arc<M> {
    fn as_manager(&self) -> &LockManager {
        M::as_manager(self)
    }
}
