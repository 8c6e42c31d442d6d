//! Locks inside one process: the default without a server, and the backend for users' own tests.

mod attempt_id_source;
mod fencing_tokens;
mod store;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::{self, Duration};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, HandoverSecret, Inspection,
    ListCursor, ListPage, Outcome, ReleaseAnswer, RenewAnswer,
};
use crate::{AttemptId, Key};
use attempt_id_source::AttemptIdSource;
use store::Store;

/// The number of keys on one page of a list.
const PAGE: usize = 100;

/// Locks that exist only inside this process.
///
/// The backend serves waiters first come, first served. Leases end by tokio's clock, so a test with paused time can let
/// hours pass immediately. Values of different `new()` calls have separate locks. Clones share their locks, like
/// processes that share a server.
///
/// # Examples
///
/// Two managers with clones of one value behave like two processes:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
/// use leasehold::backend::InProcess;
///
/// let world = InProcess::new();
/// let (here, there) = (LockManager::new(world.clone()), LockManager::new(world));
/// let guard = here.lock("order:42").acquire().await?;
/// assert!(there.lock("order:42").try_acquire().await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Implementation details
///
/// The protocol is the same as on a server, so that tests in process see the same outcomes. A release makes the first
/// active waiter the owner for a short time, and the waiter's next attempt confirms this grant. The notification
/// itself grants nothing. A waiter keeps its position by repeating its attempt. If a runtime shuts down, its waiters
/// end without a cleanup. The backend skips such a waiter when the lease of its position has expired.
#[derive(Clone, Default)]
pub struct InProcess {
    shared: Arc<SharedStore>,
}

#[derive(Default)]
struct SharedStore {
    world: Mutex<Store>,
    ids: AttemptIdSource,
}

impl InProcess {
    /// Creates a backend without locks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a backend whose tokens and ids are the same in each run.
    #[cfg(feature = "test-util")]
    #[doc(hidden)]
    #[must_use]
    pub fn reproducible() -> Self {
        Self {
            shared: Arc::new(SharedStore {
                world: Mutex::new(Store::reproducible()),
                ids: AttemptIdSource::reproducible(),
            }),
        }
    }

    fn world(&self) -> MutexGuard<'_, Store> {
        self.shared.world.lock()
    }
}

#[async_trait]
impl Backend for InProcess {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all(Duration::from_millis(10))
    }

    fn attempt_id(&self) -> AttemptId {
        self.shared.ids.draw()
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        self.world().attempt(attempt, Instant::now())
    }

    fn attempt_now(
        &self,
        attempt: &Attempt,
        now: time::Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        Some(self.world().attempt(attempt, now.into()))
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let wake_up = self.world().wake_up(attempt);
        if let Some(wake_up) = wake_up {
            wake_up.notified().await;
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let mut world = self.world();
        let now = Instant::now();
        claims.iter().map(|c| Ok(world.renew(c, now))).collect()
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        Ok(self.world().downgrade(claim, Instant::now()))
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        Ok(self.world().hand_over(claim, secret, Instant::now()))
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        Ok(self.world().release(claim, Instant::now()))
    }

    fn release_now(
        &self,
        claim: &Claim,
        now: time::Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        Some(Ok(self.world().release(claim, now.into())))
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        Ok(self.world().record(claim, outcome, keep, Instant::now()))
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        Ok(self.world().forget(key, Instant::now()))
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        Ok(self.world().release_after(claim, Instant::now()))
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.world().cleanup(attempt, Instant::now());
        Ok(())
    }

    fn cleanup_now(
        &self,
        attempt: &Attempt,
        now: time::Instant,
    ) -> Option<Result<(), BackendError>> {
        self.world().cleanup(attempt, now.into());
        Some(Ok(()))
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        Ok(self.world().inspect(key, Instant::now()))
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        Ok(self.world().force_release(key, Instant::now()))
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let mut world = self.world();
        Ok(world.force_release_holder(key, id, Instant::now()))
    }

    /// The first page copies the keys, because a map has no position that lasts while it changes.
    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let (keys, from) = match cursor.and_then(ListCursor::position) {
            Some((keys, from)) => (Arc::clone(keys), *from),
            None => (Arc::new(self.world().keys(prefix)), 0),
        };
        let end = keys.len().min(from + PAGE);
        let (mut world, now) = (self.world(), Instant::now());
        let states = keys[from..end].iter().map(|key| {
            let state = world.inspect(key, now);
            (key.full().to_owned(), state)
        });
        let held = states.filter(|(_, state)| state.holders > 0).collect();
        let next = (end < keys.len()).then(|| ListCursor::new((Arc::clone(&keys), end)));
        Ok(ListPage::new(held, next))
    }

    async fn interrupted(&self, _seen: u64) -> u64 {
        pending().await
    }

    /// Does nothing, because all clones share the locks. The locks end when the last clone is dropped.
    async fn close(&self) {}
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.world().len();
        f.debug_struct("InProcess")
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}
