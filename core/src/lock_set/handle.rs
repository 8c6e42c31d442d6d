//! A cloneable view of a held lock set.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::LockSetRun;
use super::first_end::FirstEnd;
use crate::engine::Hold;
use crate::{FencingToken, LockHandle, Lost, held_context};

/// A view of several locks that are held as one, to give to those who work under them.
///
/// It can be cloned and sent anywhere, and it cannot release: only the [`LockSetGuard`](crate::LockSetGuard) does
/// that. It outlives the guard, and then says so.
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

    /// The single locks, in the order of their keys.
    #[must_use]
    pub fn handles(&self) -> &[LockHandle] {
        &self.handles
    }

    /// What is locked, as the caller named it, each once, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.handles.iter().map(LockHandle::key)
    }

    /// The fencing token of one of the keys; `None` if it is not among them. It stays the same, and stays
    /// readable after a loss.
    #[must_use]
    pub fn token(&self, key: &str) -> Option<FencingToken> {
        let found = self
            .handles
            .binary_search_by(|handle| handle.key().cmp(key));
        found.ok().map(|at| self.handles[at].token())
    }

    /// Whether all of the locks are still held; see [`LockHandle::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.handles.iter().all(LockHandle::is_valid)
    }

    /// How long all of the locks are surely held if no further renewal succeeds; zero once one is lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        let each = self.handles.iter().map(LockHandle::valid_for);
        each.min().unwrap_or_default()
    }

    /// Resolves when one of the locks is no longer held, and says which and why; see [`LockHandle::lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + use<> {
        self.ended()
    }

    /// Runs `body` while all of the locks are held; see [`LockHandle::run`].
    ///
    /// # Errors
    ///
    /// [`Lost`] if one of the locks was lost, or released, before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the locks stay held.
    ///
    /// # Panics
    ///
    /// If `body` does, and inside a tokio runtime that was built without `enable_time`.
    pub fn run<F: Future>(&self, body: F) -> LockSetRun<F> {
        LockSetRun::new(self.ended(), body)
    }

    fn ended(&self) -> FirstEnd {
        FirstEnd::of(self.handles.iter().map(LockHandle::lease))
    }

    /// Runs `task` as the holder of these locks; see [`LockHandle::scope`].
    ///
    /// # Cancel safety
    ///
    /// As safe as `task`.
    pub fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let leases: Vec<_> = self
            .handles
            .iter()
            .map(LockHandle::lease)
            .cloned()
            .collect();
        held_context::scope(leases, task)
    }
}

impl fmt::Debug for LockSetHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&*self.handles).finish()
    }
}
