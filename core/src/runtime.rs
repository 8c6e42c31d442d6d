//! The door to tokio's scheduler and timers, so that nothing panics outside a runtime and everything runs
//! on paused time in tests. A runtime without a timer is the one thing that tokio does not let us see.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;
use tokio::time::{Sleep, Timeout};

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
    pub(crate) fn spawn_here<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let here = Handle::try_current();
        here.as_ref().unwrap_or(&self.0).spawn(task);
    }
}

/// A timer, where there is a runtime to drive it.
pub(crate) fn sleep(duration: Duration) -> Option<Sleep> {
    Handle::try_current().ok()?;
    Some(tokio::time::sleep(duration))
}

/// A bound on `task`, where there is a runtime to keep it.
pub(crate) fn timeout<F: Future>(limit: Duration, task: F) -> Option<Timeout<F>> {
    Handle::try_current().ok()?;
    Some(tokio::time::timeout(limit, task))
}
