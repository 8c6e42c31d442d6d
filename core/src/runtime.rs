//! The one door to tokio's scheduler and timers, so that nothing here panics outside a runtime and
//! everything runs on paused time in tests.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;
use tokio::time::Sleep;
use tokio_util::task::TaskTracker;

/// The runtime in which a lock was acquired.
#[derive(Debug, Clone)]
pub(crate) struct Runtime(Handle);

impl Runtime {
    pub(crate) fn current() -> Option<Self> {
        Handle::try_current().ok().map(Self)
    }

    pub(crate) fn id(&self) -> Id {
        self.0.id()
    }

    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn(task)
    }

    /// Spawns on the caller's runtime, or on this one where the caller has none: a guard may be
    /// dropped on a plain thread.
    pub(crate) fn spawn_tracked<F>(&self, tracker: &TaskTracker, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let here = Handle::try_current();
        tracker.spawn_on(task, here.as_ref().unwrap_or(&self.0));
    }

    /// A timer on the caller's runtime, or on this one where the caller has none.
    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        let _context = Handle::try_current().is_err().then(|| self.0.enter());
        tokio::time::sleep(duration)
    }
}
