//! The kinds of lock as types: exclusive, shared, permits, reentrant.

use std::fmt::Debug;

use sealed::Sealed;

/// How a lock is held: [`Exclusive`], [`Shared`], [`Permits`] or [`Reentrant`].
pub trait Kind: Sealed + Debug + Send + Sync + Unpin + 'static {}

/// A kind whose tokens order its holders: all but [`Permits`].
///
/// Those who hold permits run beside each other, so that a fence, which knows one highest token, would refuse
/// rightful ones. They have a [`SlotToken`](crate::SlotToken), which no fence takes.
pub trait Fenced: Kind {}

/// A kind whose guard has its lock for itself, so that its release frees the lock: all but [`Reentrant`].
pub trait Releasable: Kind {}

/// Beside nobody: a mutex, and the writers of a read-write lock.
#[derive(Debug)]
pub enum Exclusive {}

/// Beside others that share it: the readers of a read-write lock.
#[derive(Debug)]
pub enum Shared {}

/// Beside others, as long as there are permits: a semaphore.
#[derive(Debug)]
pub enum Permits {}

/// Beside nobody but the other guards of its [`OwnerScope`](crate::OwnerScope), who share one lease.
#[derive(Debug)]
pub enum Reentrant {}

impl Kind for Exclusive {}
impl Kind for Shared {}
impl Kind for Permits {}
impl Kind for Reentrant {}

impl Fenced for Exclusive {}
impl Fenced for Shared {}
impl Fenced for Reentrant {}

impl Releasable for Exclusive {}
impl Releasable for Shared {}
impl Releasable for Permits {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Exclusive {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Permits {}
    impl Sealed for super::Reentrant {}
}
