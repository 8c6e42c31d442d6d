//! The task that renews the leases of a manager.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::renewal_queue::RenewalQueue;
use super::renewal_timing::{self, DueAction, TickAligner};
use super::{batches, renew_batch};
use crate::AttemptId;
use crate::backend::Backend;
use crate::clock::{self, LeaseInstant};
use crate::engine::Lease;
use crate::engine::backend_call_timeout::catch_panic;
use crate::engine::background_work::ReleaseBacklog;
use crate::options::Limits;
use crate::runtime::{Runtime, sleep};

const BETWEEN_INTERRUPTIONS: Duration = Duration::from_millis(100);

/// The task that renews a manager's leases, and ends the leases that cannot be renewed.
#[derive(Debug)]
pub(crate) struct Watchdog {
    watch_state: Arc<WatchState>,
    task: AbortOnDropHandle<()>,
}

/// The watched leases, and when each is due.
#[derive(Debug)]
pub(crate) struct WatchState {
    aligner: TickAligner,
    queue: Mutex<RenewalQueue>,
    changed: Notify,
}

impl Watchdog {
    pub(crate) fn start(
        runtime: &Runtime,
        backend: Arc<dyn Backend>,
        backlog: Arc<ReleaseBacklog>,
        limits: Limits,
    ) -> Self {
        // If the runtime has no timers, this panics in the caller's acquire, not in the task, where the panic would not
        // be seen.
        drop(sleep(Duration::ZERO));
        let watch_state = Arc::new(WatchState {
            aligner: TickAligner::begin(),
            queue: Mutex::default(),
            changed: Notify::new(),
        });
        let watch = keep_watch(Arc::clone(&watch_state), backend, backlog, limits);
        let task = AbortOnDropHandle::new(runtime.spawn(watch));
        Self { watch_state, task }
    }

    /// Returns false after the watchdog's runtime has ended.
    pub(crate) fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }

    pub(crate) fn watch_state(&self) -> Arc<WatchState> {
        Arc::clone(&self.watch_state)
    }

    pub(crate) fn unwatch(&self, owner: AttemptId) {
        self.watch_state.queue.lock().remove(owner);
    }

    pub(crate) fn leases(&self) -> Vec<Arc<Lease>> {
        self.watch_state.queue.lock().leases()
    }
}

/// Renews leases as long as the runtime runs. A panic must not end the renewals of other leases. A waker may panic at
/// the end of its lease, and a backend may panic when it returns a key's server.
async fn keep_watch(
    watch_state: Arc<WatchState>,
    backend: Arc<dyn Backend>,
    backlog: Arc<ReleaseBacklog>,
    limits: Limits,
) {
    // Kept across panics; otherwise the watchdog would handle the same interruption again after each panic.
    let mut seen = 0;
    loop {
        let watching = async {
            tokio::select! {
                // In order, so that a run with paused time can be repeated exactly.
                biased;
                () = watch(&watch_state, &backend, limits, &mut seen) => Ok(()),
                never = backlog.keep_adopting() => match never {},
            }
        };
        let _panicked = catch_panic(watching).await;
        // A check that always panics must not block the runtime's other tasks.
        tokio::task::yield_now().await;
    }
}

async fn watch(
    watch_state: &WatchState,
    backend: &Arc<dyn Backend>,
    limits: Limits,
    seen: &mut u64,
) {
    watch_state.resume();
    let mut under_way = FuturesUnordered::new();
    let mut interruption = pin!(interrupted(&**backend, *seen));
    loop {
        for batch in batches(|key| backend.server_of(key), watch_state.due_for_renewal()) {
            under_way.push(renew_batch(
                batch,
                Arc::clone(backend),
                limits,
                watch_state.aligner,
            ));
        }
        let alarm = watch_state.queue.lock().set_alarm(LeaseInstant::now());
        tokio::select! {
            // In order, so that a run with paused time can be repeated exactly. The renewals in progress come first, so
            // that an alarm that is always due does not keep them from being sent.
            biased;
            Some(next_checks) = under_way.next() => {
                let mut queue = watch_state.queue.lock();
                for (lease, next_check) in next_checks {
                    queue.put_back(lease.claim.owner, next_check);
                }
            }
            () = clock::at(alarm) => {}
            () = watch_state.changed.notified() => {}
            count = &mut interruption => {
                *seen = count.max(*seen + 1);
                interruption.set(interrupted(&**backend, *seen));
                watch_state.queue.lock().make_all_due(LeaseInstant::now());
            }
        }
    }
}

impl WatchState {
    pub(crate) fn watch(&self, lease: &Arc<Lease>, now: LeaseInstant) {
        let first_look = self.aligner.after_grant(lease, now);
        if self.queue.lock().add(lease, first_look) {
            self.changed.notify_one();
        }
    }

    /// Continues the work that a panic interrupted, as after a failed renewal.
    fn resume(&self) {
        let taken = self.queue.lock().taken();
        for lease in taken {
            let next_check = renewal_timing::after_failure(&lease);
            self.queue.lock().put_back(lease.claim.owner, next_check);
        }
    }

    fn due_for_renewal(&self) -> Vec<Arc<Lease>> {
        let mut due = self.queue.lock().take_due(LeaseInstant::now());
        due.retain(|lease| {
            let owner = lease.claim.owner;
            match renewal_timing::step(lease) {
                DueAction::Renew => return true,
                DueAction::LookAgain(at) => self.queue.lock().put_back(owner, at),
                DueAction::Forget => self.queue.lock().forget(lease),
            }
            false
        });
        due
    }
}

/// Waits until the backend reports another interruption. After a panic, does not call the backend again. Pauses between
/// the calls, because a backend may always return immediately.
async fn interrupted(backend: &dyn Backend, seen: u64) -> u64 {
    if seen > 0 {
        clock::sleep_until(LeaseInstant::now().after(BETWEEN_INTERRUPTIONS)).await;
    }
    let count = catch_panic(async { Ok(backend.interrupted(seen).await) }).await;
    match count {
        Ok(count) => count,
        Err(_panicked) => pending().await,
    }
}
