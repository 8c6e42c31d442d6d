//! Releases and cleanups that no caller waits for.
//!
//! If a runtime ends before the backend confirms this work, another runtime that uses the manager continues the work.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::backend_call_timeout::catch_panic;
use crate::clock::{self, LeaseInstant};
use crate::runtime::Runtime;

/// The pause between adoptions. Without a pause, the loop would use a whole core while a runtime is ending, because
/// such a runtime immediately orphans its adopted work again.
const BETWEEN_ADOPTIONS: Duration = Duration::from_millis(1);

/// A command that is retried in the background.
pub(super) trait BackgroundWork: Debug + Send + Sync + 'static {
    /// Retries the command. Returns true when the backend has confirmed the command, and false when further retries are
    /// useless. If a call is dropped, another call starts again.
    fn carry_out(self: Arc<Self>) -> Pin<Box<dyn Future<Output = bool> + Send>>;
}

/// The background work of one manager: running, or orphaned by ended runtimes.
#[derive(Debug, Default)]
pub(super) struct ReleaseBacklog {
    orphans: Mutex<Vec<BacklogTask>>,
    /// Allows a check without locking `orphans`.
    has_orphans: AtomicBool,
    orphaned: Notify,
    given_up: AtomicUsize,
}

#[derive(Debug)]
struct BacklogTask {
    work: Arc<dyn BackgroundWork>,
    /// A shutdown waits for this work.
    _waited_for: TaskTrackerToken,
}

/// A task on some runtime. If the task is dropped with its runtime, its work is orphaned.
struct RunningTask {
    backlog: Arc<ReleaseBacklog>,
    task: Option<BacklogTask>,
}

impl ReleaseBacklog {
    /// Runs the work in the caller's runtime, or in `runtime` if the caller is outside a runtime.
    pub(super) fn add(
        self: &Arc<Self>,
        runtime: &Runtime,
        work: impl BackgroundWork,
        waited_for: TaskTrackerToken,
    ) {
        let task = BacklogTask {
            work: Arc::new(work),
            _waited_for: waited_for,
        };
        runtime.spawn_on_current(self.carry_out(task));
    }

    /// Continues the work of ended runtimes in the caller's runtime. Does nothing outside a runtime.
    pub(super) fn adopt_orphans(self: &Arc<Self>) {
        if !self.has_orphans.load(Ordering::Acquire) {
            return;
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        for task in self.take_orphans() {
            runtime.spawn(self.carry_out(task));
        }
    }

    /// Adopts orphaned work as long as this future is polled.
    pub(super) async fn keep_adopting(self: &Arc<Self>) -> Infallible {
        loop {
            let mut orphaned = pin!(self.orphaned.notified());
            orphaned.as_mut().enable();
            self.adopt_orphans();
            clock::sleep_until(LeaseInstant::now().after(BETWEEN_ADOPTIONS)).await;
            orphaned.await;
        }
    }

    /// Returns the number of commands that were abandoned before the backend confirmed them.
    pub(super) fn given_up(&self) -> usize {
        self.given_up.load(Ordering::Acquire)
    }

    fn carry_out(self: &Arc<Self>, task: BacklogTask) -> impl Future<Output = ()> + use<> {
        let work = Arc::clone(&task.work);
        // This value is created before the first poll, because an ended runtime drops the future without polling it.
        let mut running = RunningTask {
            backlog: Arc::clone(self),
            task: Some(task),
        };
        async move {
            let carry_out = async { Ok(work.carry_out().await) };
            if !catch_panic(carry_out).await.unwrap_or(false) {
                running.backlog.given_up.fetch_add(1, Ordering::AcqRel);
            }
            drop(running.task.take());
        }
    }

    fn take_orphans(&self) -> Vec<BacklogTask> {
        let mut orphans = self.orphans.lock();
        self.has_orphans.store(false, Ordering::Release);
        std::mem::take(&mut *orphans)
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else {
            return;
        };
        let mut orphans = self.backlog.orphans.lock();
        orphans.push(task);
        self.backlog.has_orphans.store(true, Ordering::Release);
        drop(orphans);
        self.backlog.orphaned.notify_waiters();
    }
}
