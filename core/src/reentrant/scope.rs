//! Reentrancy scopes: all tasks of one scope share its leases.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::{FutureExt, future};
use parking_lot::Mutex;

use super::hold_registry::{AcquireMutex, HoldKey, HoldRegistry};
use crate::clock::{self, LeaseInstant};
use crate::engine::{AcquireRequest, BusyPolicy, Engine, Hold};
use crate::options::LockOptions;
use crate::runtime::Runtime;
use crate::{AcquireError, Key};

tokio::task_local! {
    static ENTERED: Arc<EnteredScope>;
}

/// The scopes that a task is in, the innermost first.
struct EnteredScope {
    scope: OwnerScope,
    outer: Option<Arc<Self>>,
}

/// An owner of reentrant locks: whoever acquires in the same scope shares what is held already.
///
/// A scope is a value, not a thread and not a task. Pass it on, clone it (the clones are the same owner), send it to
/// the tasks that work together; or [`enter`](Self::enter) it, and find it again with [`current`](Self::current) in
/// code to which nothing can be passed. A scope itself holds no lock: the guards do, and the lock is released
/// with the last of them, in whatever order they go.
///
/// - A lock that the scope holds is acquired again without asking the backend, under the same lease and
///   [token](crate::LockGuard::token). Its TTL, `max_hold` and renewal stay those of whoever acquired it first.
/// - Tasks of one scope that want the same free lock at once ask for it once. If the one who asks gives up, the next
///   one asks.
/// - What is lost is lost for all guards in the scope, and is never handed out: the next acquire asks the backend.
/// - Locks of different managers are different locks, even under the same key.
///
/// Tasks that share a lock run beside each other. A scope keeps others out, and not its own tasks apart.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, OwnerScope, ReentrantReleaseOutcome};
///
/// let locks = LockManager::in_process();
/// let scope = OwnerScope::new();
/// let outer = locks.lock("order:42").reentrant(&scope).acquire().await?;
/// let inner = locks.lock("order:42").reentrant(&scope).acquire().await?;
/// assert_eq!(inner.token(), outer.token());
///
/// assert_eq!(inner.release().await?, ReentrantReleaseOutcome::StillHeld);
/// assert_eq!(outer.release().await?, ReentrantReleaseOutcome::Released);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct OwnerScope {
    places: Arc<Mutex<HoldRegistry>>,
}

impl OwnerScope {
    /// An owner that holds nothing yet, and is no other.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `task` in this scope: inside it, [`current`](Self::current) is this scope, and
    /// [`acquire`](crate::Lock::acquire) of a lock that it holds is
    /// [`AlreadyHeld`](AcquireError::AlreadyHeld) at once where it is not
    /// [reentrant](crate::Lock::reentrant): it would wait for its own scope.
    ///
    /// Scopes nest. Tasks that `task` spawns are not in it: give them a clone.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{AcquireError, LockManager, OwnerScope};
    ///
    /// async fn pack(locks: &LockManager) -> Result<(), leasehold::Error> {
    ///     let scope = OwnerScope::current().unwrap_or_default();
    ///     let guard = locks.lock("order:42").reentrant(&scope).acquire().await?;
    ///     guard.release().await?;
    ///     Ok(())
    /// }
    ///
    /// let locks = LockManager::in_process();
    /// let scope = OwnerScope::new();
    /// let guard = locks.lock("order:42").reentrant(&scope).acquire().await?;
    /// scope.enter(pack(&locks)).await?;
    /// let plain = scope.enter(locks.lock("order:42").acquire()).await;
    /// assert!(matches!(plain, Err(AcquireError::AlreadyHeld { .. })));
    /// # drop(guard);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// As safe as `task`.
    pub fn enter<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let scope = self.clone();
        // What is around it is seen when it is first polled. No `async` block, which would keep the task twice.
        future::lazy(move |_| {
            let outer = ENTERED.try_with(Arc::clone).ok();
            ENTERED.scope(Arc::new(EnteredScope { scope, outer }), task)
        })
        .flatten()
    }

    /// The scope that this task has [entered](Self::enter), the innermost one.
    #[must_use]
    pub fn current() -> Option<Self> {
        ENTERED.try_with(|entered| entered.scope.clone()).ok()
    }

    /// A part in what the scope holds.
    pub(crate) fn share(&self, engine: &Engine, key: &Key) -> Option<Arc<Hold>> {
        if engine.is_closed() {
            return None;
        }
        self.places.lock().share(&HoldKey::new(engine, key))
    }

    /// A part in what the scope holds, or else what the backend grants to the scope.
    pub(crate) async fn acquire(
        &self,
        engine: &Arc<Engine>,
        wanted: &AcquireRequest,
        options: &LockOptions,
        patience: BusyPolicy,
    ) -> Result<Arc<Hold>, AcquireError> {
        if Runtime::current().is_none() {
            return Err(AcquireError::NoRuntime);
        }
        let started = LeaseInstant::now();
        let give_up = options.wait.map(|wait| started.after(wait));
        let place = HoldKey::new(engine, &wanted.key);
        let turn = self.places.lock().turn(&place);
        let _turn = tokio::select! {
            biased;
            turn = take_turn(turn, patience) => turn,
            () = engine.closed() => return Err(AcquireError::Closed { key: wanted.key.clone() }),
            () = clock::at(give_up) => None,
        }
        .ok_or_else(|| AcquireError::TimedOut {
            key: wanted.key.clone(),
            waited: LeaseInstant::now().since(started),
        })?;
        // A ticket that is taken up stands for a lease of its own.
        if wanted.handover.is_none()
            && let Some(hold) = self.share(engine, &wanted.key)
        {
            return Ok(hold);
        }
        let left = LockOptions {
            wait: give_up.map(LeaseInstant::remaining),
            ..*options
        };
        let hold = Arc::new(engine.acquire(wanted, &left, patience).await?);
        self.places.lock().enter(place, &hold);
        Ok(hold)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.places, &other.places)
    }
}

/// `None` if somebody else of the scope is at it, for those who do not wait.
async fn take_turn(
    turn: AcquireMutex,
    patience: BusyPolicy,
) -> Option<tokio::sync::OwnedMutexGuard<()>> {
    match patience {
        BusyPolicy::Wait => Some(turn.lock_owned().await),
        BusyPolicy::None => turn.try_lock_owned().ok(),
    }
}

/// Whether a scope that this task has entered, other than `own`, holds `key`.
pub(crate) fn held_by_outer_scope(engine: &Engine, key: &Key, own: Option<&OwnerScope>) -> bool {
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

impl fmt::Debug for OwnerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerScope ")?;
        f.debug_set().entries(self.places.lock().held()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockManager;

    #[tokio::test]
    async fn a_scope_that_lives_long_forgets_what_it_no_longer_holds() {
        let (locks, scope) = (LockManager::in_process(), OwnerScope::new());
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
