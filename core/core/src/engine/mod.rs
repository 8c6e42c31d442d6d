//! The layer between a caller and a backend: acquire, lease, renewal and release.

mod acquire;
mod backend_call_timeout;
mod background_work;
mod downgrade_and_handover;
mod held_lock;
mod lease;
mod manual_renewal;
#[cfg(feature = "once")]
mod record_outcome;
mod release;
mod renew;
mod retry_backoff;
mod shutdown;

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Id;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Key;
use super::backend::Backend;
use super::options::Limits;
use crate::clock::LeaseInstant;
pub(crate) use acquire::acquire_failure::NotAcquired;
pub(crate) use acquire::acquire_request::AcquireRequest;
pub(crate) use acquire::busy_policy::BusyPolicy;
pub(crate) use backend_call_timeout::bounded;
use background_work::ReleaseBacklog;
pub(crate) use downgrade_and_handover::{downgrade, hand_over};
pub(crate) use held_lock::{Hold, HoldRef};
pub(crate) use lease::Lease;
pub(crate) use lease::lease_end::LeaseEnd;
pub(crate) use manual_renewal::{renew_all, renew_now};
#[cfg(feature = "once")]
pub(crate) use record_outcome::record;
use renew::watchdog::{WatchState, Watchdog};
pub(crate) use retry_backoff::Backoff;

/// One manager's use of its backend, shared by the manager, its clones and its guards.
pub(crate) struct Engine {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) limits: Limits,
    /// The label of the manager.
    pub(crate) label: &'static str,
    /// Set before `closing` is cancelled. A caller can read this flag without a lock.
    closed: AtomicBool,
    closing: CancellationToken,
    /// One watchdog per runtime. Usually there is one runtime; a static manager in the tests of a binary has several.
    watchdogs: Mutex<Vec<(Id, Watchdog)>>,
    /// Acquires and campaigns in progress, and unconfirmed releases.
    unfinished: TaskTracker,
    backlog: Arc<ReleaseBacklog>,
    /// The number of background commands that had been abandoned when the manager was shut down.
    given_up_before: OnceLock<usize>,
}

impl Engine {
    pub(crate) fn new(backend: Arc<dyn Backend>, limits: Limits, label: &'static str) -> Arc<Self> {
        Arc::new(Self {
            backend,
            limits,
            label,
            closed: AtomicBool::new(false),
            closing: CancellationToken::new(),
            watchdogs: Mutex::default(),
            unfinished: TaskTracker::new(),
            backlog: Arc::default(),
            given_up_before: OnceLock::new(),
        })
    }

    /// Returns the backend itself. A call on its `Arc` would box another future.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.given_up_before.get_or_init(|| self.backlog.given_up());
        self.closed.store(true, Ordering::Release);
        self.closing.cancel();
    }

    /// Returns when the manager is shut down.
    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    /// Returns a token for which a shutdown waits.
    pub(crate) fn in_progress(&self) -> TaskTrackerToken {
        self.unfinished.token()
    }

    /// Returns the time until which a background command is retried. By then the leases have ended, and all earlier
    /// commands have completed.
    fn background_end(&self, ttl: Duration) -> LeaseInstant {
        LeaseInstant::now().after(ttl.saturating_add(self.limits.outage))
    }

    /// Returns how many leases were left to expire after the manager was shut down.
    fn given_up(&self) -> usize {
        let before = self.given_up_before.get().copied().unwrap_or(0);
        self.backlog.given_up().saturating_sub(before)
    }

    fn watch(&self, lease: &Arc<Lease>, now: LeaseInstant) {
        // `watchdogs` is not locked here, because a subscriber to the end of a lease may drop another guard.
        self.watch_state(lease).watch(lease, now);
    }

    fn watch_state(&self, lease: &Lease) -> Arc<WatchState> {
        let mut watchdogs = self.watchdogs.lock();
        let id = lease.runtime.id();
        if let Some((_, watchdog)) = watchdogs.iter().find(|it| it.0 == id) {
            return watchdog.watch_state();
        }
        // Keep a watchdog of an ended runtime while it has leases, because a shutdown must end these leases.
        watchdogs.retain(|(_, watchdog)| watchdog.is_alive() || !watchdog.leases().is_empty());
        let (backend, backlog) = (Arc::clone(&self.backend), Arc::clone(&self.backlog));
        let watchdog = Watchdog::start(&lease.runtime, backend, backlog, self.limits);
        let watch_state = watchdog.watch_state();
        watchdogs.push((id, watchdog));
        watch_state
    }

    fn unwatch(&self, lease: &Lease) {
        let (watchdogs, id) = (self.watchdogs.lock(), lease.runtime.id());
        if let Some((_, watchdog)) = watchdogs.iter().find(|it| it.0 == id) {
            watchdog.unwatch(lease.claim.owner);
        }
    }

    fn stop_watching(&self) {
        self.watchdogs.lock().clear();
    }

    /// Returns the leases that the watchdogs know, in no particular order.
    pub(crate) fn watched(&self) -> Vec<Arc<Lease>> {
        let watchdogs = self.watchdogs.lock();
        let leases = watchdogs.iter().map(|(_, watchdog)| watchdog.leases());
        leases.flatten().collect()
    }

    /// Returns where this manager acquired the lock on `key`, if it holds the lock. Ignores permits, because tasks of one
    /// process usually share a semaphore.
    pub(crate) fn own_hold(&self, key: &Key) -> Option<&'static Location<'static>> {
        let mut leases = self.watched().into_iter();
        leases.find_map(|lease| {
            let claim = &lease.claim;
            let holds = claim.mode.has_token() && claim.key == *key && lease.validity().is_ok();
            lease.place.filter(|_| holds)
        })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("backend", &self.backend)
            .field("limits", &self.limits)
            .field("label", &self.label)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::release::PendingRelease;
    use super::*;
    use crate::EndReason;
    use crate::backend::InProcess;
    use crate::options::AcquireOptions;

    #[test]
    fn watchdogs_of_ended_runtimes_are_removed() {
        let engine = Engine::new(Arc::new(InProcess::new()), Limits::default(), "tests");
        for n in 0..10 {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            runtime.unwrap().block_on(async {
                let key = Key::new("", &n.to_string()).unwrap();
                let (wanted, options) =
                    (AcquireRequest::exclusively(key), AcquireOptions::default());
                let acquire = engine.acquire(&wanted, &options, BusyPolicy::Wait);
                drop(acquire.await.unwrap());
            });
            assert_eq!(engine.watchdogs.lock().len(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_released_lease_leaves_the_renewal_queue_immediately() {
        let engine = Engine::new(Arc::new(InProcess::new()), Limits::default(), "tests");
        let wanted = AcquireRequest::exclusively(Key::new("", "k").unwrap());
        let options = AcquireOptions::default();
        for _ in 0..3 {
            let acquire = engine.acquire(&wanted, &options, BusyPolicy::Wait);
            let hold = acquire.await.unwrap();
            assert_eq!(engine.watched().len(), 1);
            let mut release = PendingRelease::take(&engine, &hold.lease).unwrap();
            release.send().await.unwrap();
            assert_eq!(engine.watched().len(), 0);
        }
    }

    #[test]
    fn a_shutdown_ends_guards_of_ended_runtimes_and_leaves_no_watchdog() {
        let engine = Engine::new(Arc::new(InProcess::new()), Limits::default(), "tests");
        let acquire = |name| {
            let wanted = AcquireRequest::exclusively(Key::new("", name).unwrap());
            let engine = Arc::clone(&engine);
            async move {
                let options = AcquireOptions::default();
                let acquire = engine.acquire(&wanted, &options, BusyPolicy::Wait);
                acquire.await.unwrap()
            }
        };
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_time().build().unwrap()
        };
        let left_behind = runtime().block_on(acquire("left behind"));
        runtime().block_on(async {
            let _here = acquire("here").await;
            engine.shut_down().await.unwrap();
        });
        assert_eq!(left_behind.lease.validity(), Err(EndReason::Shutdown));
        assert!(engine.watchdogs.lock().is_empty());
    }
}
