//! The locks that the current task holds, for code that writes under them.

use std::sync::Arc;

use crate::backend::Claim;
use crate::held_locks_of_task::{self, HeldFrame};
use crate::lock::kind::{Current, Fenced};
use crate::{Error, Key, LockGuard, LockHandle, NoCurrentLockError};

/// A lock that the current task holds, and that has a fencing token: see [`current_lock`].
pub type CurrentLock = LockHandle<Current>;

/// Views a held lock as the current lock, for functions that accept any kind of lock with a token.
impl<K: Fenced> From<&LockGuard<K>> for CurrentLock {
    fn from(guard: &LockGuard<K>) -> Self {
        Self::from(&guard.handle())
    }
}

/// Views a held lock as the current lock, for functions that accept any kind of lock with a token.
impl<K: Fenced> From<&LockHandle<K>> for CurrentLock {
    fn from(handle: &LockHandle<K>) -> Self {
        Self::new(handle.lease())
    }
}

/// Returns the innermost lock with a fencing token that the current task holds.
///
/// A task holds a lock:
///
/// - in the body of [`run`](crate::Lock::run), of any guard, handle or lock,
/// - in a future inside [`LockHandle::scope`],
/// - in a function with `#[distributed_lock]`,
/// - in a request under `LockLayer` of `leasehold-tower`.
///
/// `current_lock` also returns a lock that was lost, because the resource needs its token to reject late writes.
/// [`check`](LockHandle::check) returns the loss. `current_lock` skips permits of a semaphore, because permits do not
/// have a token, and locks that guard something else than data, such as the request under an `IdempotencyLayer`: see
/// [`scope_without_fence`](LockHandle::scope_without_fence).
///
/// A spawned task does not inherit the locks of the task that spawned it. Run its future in the
/// [`scope`](LockHandle::scope) of the lock.
///
/// # Errors
///
/// Returns [`Error::NoCurrentLock`] if the task holds no lock, or only such locks. Returns the same error if
/// [`LockManager::lock_all`](crate::LockManager::lock_all) acquired the innermost locks together: use
/// [`current_lock_by_key`] then.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, current_lock};
///
/// /// Knows nothing of locks, and still writes with the token.
/// async fn write_order() -> Result<i64, leasehold::Error> {
///     let lock = current_lock()?;
///     lock.check()?;
///     Ok(lock.token().get()) // send it with the write
/// }
///
/// let locks = LockManager::in_process();
/// let guard = locks.lock("order:42").acquire().await?;
/// let token = guard.run(async |_| write_order().await).await?;
/// assert_eq!(token, guard.token().get());
///
/// // A spawned task takes the lock with it.
/// let spawned = guard.run(async |lock| Ok::<_, leasehold::Error>(tokio::spawn(lock.scope(write_order())))).await?;
/// assert_eq!(spawned.await.expect("no panic")?, token);
///
/// assert!(matches!(write_order().await, Err(leasehold::Error::NoCurrentLock(_))));
/// # Ok(())
/// # }
/// ```
pub fn current_lock() -> Result<CurrentLock, Error> {
    let held = innermost(|_key| true)?;
    match held.is_of_set {
        false => Ok(CurrentLock::new(&held.lease)),
        true => Err(NoCurrentLockError::Several { held: held_keys() }.into()),
    }
}

/// Returns the innermost lock on `key` with a fencing token that the current task holds: see [`current_lock`].
///
/// # Errors
///
/// Returns [`Error::NoCurrentLock`] if the task holds no lock on `key`, or only permits.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, current_lock_by_key};
///
/// let guard = LockManager::in_process().lock_all(["account:1", "account:2"]).acquire().await?;
/// let token = guard
///     .run(async |_| Ok::<_, leasehold::Error>(current_lock_by_key("account:2")?.token()))
///     .await?;
/// assert_eq!(Some(token), guard.token("account:2"));
/// # Ok(())
/// # }
/// ```
pub fn current_lock_by_key(key: &str) -> Result<CurrentLock, Error> {
    match innermost(|held| held.name() == key) {
        Ok(held) => Ok(CurrentLock::new(&held.lease)),
        Err(NoCurrentLockError::NotHeld) if held_locks_of_task::frames().next().is_some() => {
            let key = key.to_owned();
            Err(NoCurrentLockError::OtherKeys {
                key,
                held: held_keys(),
            }
            .into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns all locks with a fencing token that the current task holds, the innermost first: see [`current_lock`].
#[must_use]
pub fn current_locks() -> Vec<CurrentLock> {
    let held =
        held_locks_of_task::fencing_frames().filter(|held| held.lease.claim.mode.has_token());
    held.map(|held| CurrentLock::new(&held.lease)).collect()
}

/// Returns the innermost lock with a token whose key is accepted.
fn innermost(is_accepted: impl Fn(&Key) -> bool) -> Result<Arc<HeldFrame>, NoCurrentLockError> {
    let mut error = NoCurrentLockError::NotHeld;
    for held in held_locks_of_task::fencing_frames() {
        let Claim { key, mode, .. } = &held.lease.claim;
        if is_accepted(key) {
            if mode.has_token() {
                return Ok(held);
            }
            error = NoCurrentLockError::OnlyPermits { key: key.clone() };
        }
    }
    let other = held_locks_of_task::frames().find(|held| is_accepted(&held.lease.claim.key));
    match (error, other) {
        (NoCurrentLockError::NotHeld, Some(held)) => Err(NoCurrentLockError::OnlyWithoutFence {
            key: held.lease.claim.key.clone(),
        }),
        (error, _) => Err(error),
    }
}

fn held_keys() -> Vec<Key> {
    held_locks_of_task::frames()
        .map(|held| held.lease.claim.key.clone())
        .collect()
}
