//! Gives access to tokio's scheduler and timers. Calls outside a runtime do not panic, and tests can pause the time.
//! Calls inside a runtime without a timer still panic, because the crate cannot detect such a runtime.

use std::future::Future;
use std::task::Context;
use std::time::Duration;

#[cfg(feature = "test-util")]
use tokio::runtime::Builder;
use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;
use tokio::task::JoinSet;
use tokio::time::{Sleep, Timeout};

/// The runtime in which a lock was acquired.
#[derive(Debug, Clone)]
pub struct Runtime(Handle);

impl Runtime {
    /// Returns the runtime of the caller, if there is one.
    pub fn current() -> Option<Self> {
        Handle::try_current().ok().map(Self)
    }

    /// Returns the id of the runtime.
    #[must_use]
    pub fn id(&self) -> Id {
        self.0.id()
    }

    /// Spawns a task on this runtime.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn(task)
    }

    /// Spawns on the caller's runtime, or on this runtime if the caller is outside a runtime. A guard may be dropped on
    /// a plain thread.
    pub fn spawn_on_current<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let here = Handle::try_current();
        here.as_ref().unwrap_or(&self.0).spawn(task);
    }
}

/// Spawns each of the tasks on the caller's runtime. Spawns none outside a runtime.
pub fn spawn_all<F>(tasks: impl IntoIterator<Item = F>) -> JoinSet<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut spawned = JoinSet::new();
    if let Ok(runtime) = Handle::try_current() {
        for task in tasks {
            spawned.spawn_on(task, &runtime);
        }
    }
    spawned
}

/// Runs blocking code on a thread of the caller's runtime, if there is one.
pub fn spawn_blocking<R: Send + 'static>(
    body: impl FnOnce() -> R + Send + 'static,
) -> Option<JoinHandle<R>> {
    let runtime = Handle::try_current().ok()?;
    Some(runtime.spawn_blocking(body))
}

/// Builds a runtime on the caller's thread whose clock is paused. It calls `at_rest` when all tasks wait, before the
/// clock advances. A task that another thread wakes runs after the tasks that are ready.
#[cfg(feature = "test-util")]
pub fn paused_runtime(
    at_rest: impl Fn() + Send + Sync + 'static,
) -> std::io::Result<tokio::runtime::Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .global_queue_interval(u32::MAX)
        .on_thread_park(at_rest)
        .build()
}

/// Returns whether other threads have woken tasks of the caller's runtime that were not polled since.
#[cfg(feature = "test-util")]
#[must_use]
pub fn has_remote_tasks() -> bool {
    Handle::try_current().is_ok_and(|it| it.metrics().global_queue_depth() > 0)
}

/// Returns whether the caller is in a runtime.
#[must_use]
pub fn in_runtime() -> bool {
    Handle::try_current().is_ok()
}

/// Returns a timer, or `None` outside a runtime.
#[must_use]
pub fn sleep(duration: Duration) -> Option<Sleep> {
    Handle::try_current().ok()?;
    Some(tokio::time::sleep(duration))
}

/// Returns a timer until a point on tokio's clock, or `None` outside a runtime.
#[must_use]
pub fn sleep_until(instant: std::time::Instant) -> Option<Sleep> {
    Handle::try_current().ok()?;
    Some(tokio::time::sleep_until(instant.into()))
}

/// Limits the time of `task`. Returns `None` outside a runtime.
pub fn timeout<F: Future>(limit: Duration, task: F) -> Option<Timeout<F>> {
    Handle::try_current().ok()?;
    Some(tokio::time::timeout(limit, task))
}

/// Schedules another poll of the task, after the other ready tasks and after a check of timers and sockets.
pub fn poll_later(context: &mut Context<'_>) {
    let pause = std::pin::pin!(tokio::task::yield_now());
    // This poll registers the waker with tokio.
    let _is_pending = pause.poll(context);
}
