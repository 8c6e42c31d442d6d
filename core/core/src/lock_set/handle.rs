//! A cloneable view of a held lock set.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::body_until_loss::LockSetRun;
use super::first_lease_end::FirstEnd;
use crate::engine::Hold;
use crate::{Ended, Error, FencingToken, LockHandle, held_locks_of_task};

/// A view of several locks that are held as one, for code that works under them.
///
/// A handle can be cloned and sent anywhere. A handle cannot release the locks; only the
/// [`LockSetGuard`](crate::LockSetGuard) can. A handle may outlive the guard, and then reports the end of the leases.
#[derive(Clone)]
pub struct LockSetHandle {
    handles: Arc<[LockHandle]>,
}

impl LockSetHandle {
    pub(super) fn of(holds: &[Hold]) -> Self {
        let handles = holds.iter().map(|hold| LockHandle::new(&hold.lease));
        Self {
            handles: handles.collect(),
        }
    }

    /// Returns the handles of the single locks, sorted by key.
    #[must_use]
    pub fn handles(&self) -> &[LockHandle] {
        &self.handles
    }

    /// Returns the keys as the caller named them, sorted and without duplicates.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.handles.iter().map(LockHandle::key)
    }

    /// Returns the fencing token of `key`, or `None` if `key` is not among the keys. The token never changes, and stays
    /// readable after a loss.
    #[must_use]
    pub fn token(&self, key: &str) -> Option<FencingToken> {
        let found = self
            .handles
            .binary_search_by(|handle| handle.key().cmp(key));
        found.ok().map(|at| self.handles[at].token())
    }

    /// Returns whether all of the locks are still held; see [`LockHandle::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.handles.iter().all(LockHandle::is_valid)
    }

    /// Returns how long all of the locks stay valid if no further renewal succeeds, and zero if one of them was lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        let each = self.handles.iter().map(LockHandle::valid_for);
        each.min().unwrap_or_default()
    }

    /// Resolves when the lease of one of the locks has ended, and returns its key and the reason; see
    /// [`LockHandle::ended`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn ended(&self) -> impl Future<Output = Ended> + Send + use<> {
        self.first_end()
    }

    /// Runs `body` while all of the locks are held; see [`LockHandle::run`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if one of the locks was lost, or released, before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the locks stay held.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`.
    pub fn run<T, E, B>(&self, body: B) -> impl Future<Output = Result<T, E>> + use<T, E, B>
    where
        B: AsyncFnOnce(Self) -> Result<T, E>,
        E: From<Error>,
    {
        let running = self.run_future(body(self.clone()));
        running.map(|ran| ran.unwrap_or_else(|lost| Err(Error::from(lost).into())))
    }

    /// Runs a future as the holder, and drops it when one of the locks is lost.
    pub(super) fn run_future<F: Future>(&self, body: F) -> LockSetRun<F> {
        LockSetRun::new(self.first_end(), body)
    }

    fn first_end(&self) -> FirstEnd {
        FirstEnd::of(self.handles.iter().map(LockHandle::lease))
    }

    /// Runs `task` as the holder of these locks; see [`LockHandle::scope`].
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe if `task` is cancel safe.
    pub fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let leases: Vec<_> = self
            .handles
            .iter()
            .map(LockHandle::lease)
            .cloned()
            .collect();
        held_locks_of_task::scope(leases, task)
    }
}

impl fmt::Debug for LockSetHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&*self.handles).finish()
    }
}
