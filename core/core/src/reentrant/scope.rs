//! Reentrancy scopes: all tasks of one scope share its leases.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::{FutureExt, future};
use parking_lot::Mutex;

use super::hold_registry::{AcquireMutex, HoldKey, HoldRegistry};
use crate::clock::{self, LeaseInstant};
use crate::engine::{AcquireRequest, BusyPolicy, Engine, Hold};
use crate::options::AcquireOptions;
use crate::runtime::Runtime;
use crate::{Error, Key};

tokio::task_local! {
    static ENTERED: Arc<EnteredScope>;
}

/// The scopes that a task has entered, the innermost first.
struct EnteredScope {
    scope: ReentrancyScope,
    outer: Option<Arc<Self>>,
}

/// An owner of reentrant locks. The owner can acquire a lock again while it holds the lock.
///
/// A scope is a value, not a thread or a task. Pass it, clone it (clones are the same owner), or send it to the tasks
/// that work together. If you cannot pass the scope to some code, run that code inside [`enter`](Self::enter), and get
/// the scope there with [`current`](Self::current). A scope itself does not keep a lock held. The lock is released when
/// its last guard is dropped or released, in any order.
///
/// - An acquire of a lock that the scope holds sends no request to the backend. The new guard has the same lease and
///   [token](crate::LockGuard::token). The first acquire sets the TTL, `max_hold` and renewal of that lease.
/// - If tasks of one scope concurrently acquire the same free lock, only one of them sends a request. If that task
///   stops waiting, the next task sends a request.
/// - A loss affects all guards in the scope, and a lost lock is never shared: the next acquire sends a request to the
///   backend.
/// - Locks of different managers are different locks, even under the same key.
///
/// The tasks of one scope run concurrently under its locks. A scope excludes other owners; it does not exclude its own
/// tasks from each other.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, ReentrancyScope, ReentrantRelease};
///
/// let locks = LockManager::in_process();
/// let scope = ReentrancyScope::new();
/// let outer = locks.lock("order:42").reentrant(&scope).acquire().await?;
/// let inner = locks.lock("order:42").reentrant(&scope).acquire().await?;
/// assert_eq!(inner.token(), outer.token());
///
/// assert_eq!(inner.release().await?, ReentrantRelease::StillHeld);
/// assert_eq!(outer.release().await?, ReentrantRelease::Released);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ReentrancyScope {
    places: Arc<Mutex<HoldRegistry>>,
}

impl ReentrancyScope {
    /// Creates a new owner, which does not hold any lock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `task` in this scope: inside it, [`current`](Self::current) returns this scope. A
    /// non-[reentrant](crate::Lock::reentrant) [`acquire`](crate::Lock::acquire) of a lock that the scope holds returns
    /// [`AlreadyHeld`](Error::AlreadyHeld) immediately instead of deadlocking.
    ///
    /// Scopes can be nested. Tasks that `task` spawns are not in the scope: pass a clone of the scope to each of these
    /// tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{Error, LockManager, ReentrancyScope};
    ///
    /// async fn pack(locks: &LockManager) -> Result<(), leasehold::Error> {
    ///     let scope = ReentrancyScope::current().unwrap_or_default();
    ///     let guard = locks.lock("order:42").reentrant(&scope).acquire().await?;
    ///     guard.release().await?;
    ///     Ok(())
    /// }
    ///
    /// let locks = LockManager::in_process();
    /// let scope = ReentrancyScope::new();
    /// let guard = locks.lock("order:42").reentrant(&scope).acquire().await?;
    /// scope.enter(pack(&locks)).await?;
    /// let plain = scope.enter(locks.lock("order:42").acquire()).await;
    /// assert!(matches!(plain, Err(Error::AlreadyHeld { .. })));
    /// # drop(guard);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe if `task` is cancel safe.
    pub fn enter<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let scope = self.clone();
        // The surrounding scopes are read at the first poll. An `async` block would store the task twice.
        future::lazy(move |_| {
            let outer = ENTERED.try_with(Arc::clone).ok();
            ENTERED.scope(Arc::new(EnteredScope { scope, outer }), task)
        })
        .flatten()
    }

    /// Returns the innermost scope that this task has [entered](Self::enter).
    #[must_use]
    pub fn current() -> Option<Self> {
        ENTERED.try_with(|entered| entered.scope.clone()).ok()
    }

    /// Returns a reference to the lock that the scope holds.
    pub(crate) fn share(&self, engine: &Engine, key: &Key) -> Option<Arc<Hold>> {
        if engine.is_closed() {
            return None;
        }
        self.places.lock().share(&HoldKey::new(engine, key))
    }

    /// Returns a reference to the lock if the scope holds it, or acquires the lock from the backend for the scope.
    pub(crate) async fn acquire(
        &self,
        engine: &Arc<Engine>,
        wanted: &AcquireRequest,
        options: &AcquireOptions,
        busy_policy: BusyPolicy,
    ) -> Result<Arc<Hold>, Error> {
        if Runtime::current().is_none() {
            return Err(Error::NoRuntime);
        }
        let started = LeaseInstant::now();
        let give_up = options.wait.map(|wait| started.after(wait));
        let place = HoldKey::new(engine, &wanted.key);
        let turn = self.places.lock().turn(&place);
        let _turn = tokio::select! {
            biased;
            turn = take_turn(turn, busy_policy) => turn,
            () = engine.closed() => return Err(Error::Closed { key: wanted.key.clone() }),
            () = clock::at(give_up) => None,
        }
        .ok_or_else(|| Error::TimedOut {
            key: wanted.key.clone(),
            waited: LeaseInstant::now().since(started),
            holder: None,
            acquired_at: None,
        })?;
        // An accepted ticket has its own lease, so it does not use the lease that the scope holds.
        if wanted.handover.is_none()
            && let Some(hold) = self.share(engine, &wanted.key)
        {
            return Ok(hold);
        }
        let left = AcquireOptions {
            wait: give_up.map(LeaseInstant::remaining),
            ..*options
        };
        let hold = Arc::new(engine.acquire(wanted, &left, busy_policy).await?);
        self.places.lock().enter(place, &hold);
        Ok(hold)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.places, &other.places)
    }
}

/// Returns `None` if another task of the scope is acquiring and the caller does not wait.
async fn take_turn(
    turn: AcquireMutex,
    busy_policy: BusyPolicy,
) -> Option<tokio::sync::OwnedMutexGuard<()>> {
    match busy_policy {
        BusyPolicy::Wait => Some(turn.lock_owned().await),
        BusyPolicy::None => turn.try_lock_owned().ok(),
    }
}

/// Returns whether a scope that this task has entered, other than `own`, holds `key`.
pub(crate) fn held_by_outer_scope(
    engine: &Engine,
    key: &Key,
    own: Option<&ReentrancyScope>,
) -> bool {
    let is_held = |entered: &Arc<EnteredScope>| {
        let place = HoldKey::new(engine, key);
        let mut next = Some(entered);
        while let Some(EnteredScope { scope, outer }) = next.map(Arc::as_ref) {
            if own.is_none_or(|own| !own.is(scope)) && scope.places.lock().is_held(&place) {
                return true;
            }
            next = outer.as_ref();
        }
        false
    };
    ENTERED.try_with(is_held).unwrap_or_default()
}

impl fmt::Debug for ReentrancyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReentrancyScope ")?;
        f.debug_set().entries(self.places.lock().held()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockManager;

    #[tokio::test]
    async fn a_long_lived_scope_removes_entries_of_released_locks() {
        let (locks, scope) = (LockManager::in_process(), ReentrancyScope::new());
        let mut kept = Vec::new();
        for n in 0..1000 {
            let lock = locks.lock(format!("k{n}")).reentrant(&scope);
            let guard = lock.acquire().await.unwrap();
            if n % 100 == 0 {
                kept.push(guard);
            }
        }
        assert!(scope.places.lock().len() <= 64);
        assert_eq!(scope.places.lock().held().count(), kept.len());
    }
}
