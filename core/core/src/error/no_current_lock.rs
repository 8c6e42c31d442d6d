//! The error of code that needs a lock of its task.

use crate::Key;

/// No lock whose token can be used is current. A lock is current inside its `run` and `scope`, in annotated functions, and
/// under layers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoCurrentLockError {
    /// No lock is current: this call is not inside `run` or `scope` of a lock, an annotated function or a layer. A guard
    /// alone does not make its lock current.
    #[error(
        "no lock is current here: work inside `run` or `scope` of a lock, an annotated function or a `LockLayer`, because \
         a guard alone does not count; in a spawned task, run the future inside `current_lock()?.scope(future)`, called \
         before the spawn"
    )]
    NotHeld,
    /// The task holds only permits of a semaphore.
    #[error(
        "this task holds only permits of `{key}`, which have no fencing token: use an exclusive lock for what it writes"
    )]
    OnlyPermits {
        /// The key of the semaphore.
        key: Key,
    },
    /// The task holds only a lock that guards something else than data, such as a request under an `IdempotencyLayer`.
    #[error(
        "this task holds only the lock on `{key}`, which guards a request and not the data that the task writes: also lock \
         the data, with `LockLayer`, `#[distributed_lock]` or `run` of a lock"
    )]
    OnlyWithoutFence {
        /// The key of the lock.
        key: Key,
    },
    /// No lock on this key is current.
    #[error(
        "the current locks are not on `{key}`, but on {}: work inside `run` of a lock on `{key}`, or use another key",
        list(held)
    )]
    OtherKeys {
        /// The key that the caller passed.
        key: String,
        /// The keys that the task has locked, the innermost first.
        held: Vec<Key>,
    },
    /// The task holds several locks that were acquired together, and none of them is the innermost.
    #[error(
        "this task holds several locks that were acquired together, on {}: choose one by its key",
        list(held)
    )]
    Several {
        /// The keys that the task has locked.
        held: Vec<Key>,
    },
}

fn list(keys: &[Key]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}
