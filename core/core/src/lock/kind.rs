//! The kinds of lock as types: exclusive, shared, permits, reentrant, and the current lock of a task.

use std::fmt::Debug;

use sealed::Sealed;

/// The mode in which a lock is held: [`Exclusive`], [`Shared`], [`Permits`] or [`Reentrant`]. [`Current`] stands for a
/// lock whose mode is not known.
pub trait Kind: Sealed + Debug + Send + Sync + Unpin + 'static {}

/// A kind with tokens that order its holders: all kinds except [`Permits`].
///
/// Holders of permits run concurrently. A fence remembers only the highest token, so it would reject the other valid
/// holders. Permits have a [`PermitId`](crate::PermitId) instead, which fences do not accept.
pub trait Fenced: Kind {}

/// A kind with a single guard for each held lock, so releasing the guard frees the lock: all kinds except
/// [`Reentrant`].
pub trait Releasable: Kind {}

/// The kind of a lock that one holder holds at a time: a mutex, or the write lock of a read-write lock.
#[derive(Debug)]
pub enum Exclusive {}

/// The kind of a lock that readers hold together: the read lock of a read-write lock.
#[derive(Debug)]
pub enum Shared {}

/// The kind of a semaphore, which several holders hold concurrently, up to the number of permits.
#[derive(Debug)]
pub enum Permits {}

/// The kind of a lock that only the guards of one [`ReentrancyScope`](crate::ReentrancyScope) hold, under one lease.
#[derive(Debug)]
pub enum Reentrant {}

/// Stands for any kind of lock that has a token: see [`current_lock`](crate::current_lock).
#[derive(Debug)]
pub enum Current {}

impl Kind for Exclusive {}
impl Kind for Shared {}
impl Kind for Permits {}
impl Kind for Reentrant {}
impl Kind for Current {}

impl Fenced for Exclusive {}
impl Fenced for Shared {}
impl Fenced for Reentrant {}
impl Fenced for Current {}

impl Releasable for Exclusive {}
impl Releasable for Shared {}
impl Releasable for Permits {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Exclusive {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Permits {}
    impl Sealed for super::Reentrant {}
    impl Sealed for super::Current {}
}
