//! The door to tokio's scheduler and timers, so that nothing panics outside a runtime and everything runs
//! on paused time in tests. A runtime without a timer is the one thing that tokio does not let us see.

use std::future::Future;
#[cfg(feature = "redis")]
use std::task::Context;
use std::time::Duration;

#[cfg(feature = "zookeeper")]
use tokio::runtime::Builder;
use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;
use tokio::time::{Sleep, Timeout};
#[cfg(feature = "zookeeper")]
use tokio_util::sync::{CancellationToken, DropGuard};

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
    pub(crate) fn spawn_on_current<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let here = Handle::try_current();
        here.as_ref().unwrap_or(&self.0).spawn(task);
    }
}

/// Whether there is a runtime here.
pub(crate) fn in_runtime() -> bool {
    Handle::try_current().is_ok()
}

/// A timer, where there is a runtime to drive it.
pub(crate) fn sleep(duration: Duration) -> Option<Sleep> {
    Handle::try_current().ok()?;
    Some(tokio::time::sleep(duration))
}

/// As [`sleep`], until tokio's clock says so.
pub(crate) fn sleep_until(instant: std::time::Instant) -> Option<Sleep> {
    Handle::try_current().ok()?;
    Some(tokio::time::sleep_until(instant.into()))
}

/// A bound on `task`, where there is a runtime to keep it.
pub(crate) fn timeout<F: Future>(limit: Duration, task: F) -> Option<Timeout<F>> {
    Handle::try_current().ok()?;
    Some(tokio::time::timeout(limit, task))
}

/// Has a task polled again, after what else is to be polled, and when timers and sockets have been looked at.
#[cfg(feature = "redis")]
pub(crate) fn poll_later(context: &mut Context<'_>) {
    let pause = std::pin::pin!(tokio::task::yield_now());
    // tokio has the waker from here on.
    let _is_pending = pause.poll(context);
}

/// How long what ends with [`RuntimeThread`] has to say goodbye.
#[cfg(feature = "zookeeper")]
const GOODBYE: Duration = Duration::from_secs(1);

/// A runtime on a thread of its own, for what outlives the runtimes of its callers. It ends soon after this is dropped.
#[cfg(feature = "zookeeper")]
#[derive(Debug)]
pub(crate) struct RuntimeThread {
    runtime: Handle,
    at_once: CancellationToken,
    ended: CancellationToken,
    _soon: DropGuard,
}

#[cfg(feature = "zookeeper")]
impl RuntimeThread {
    pub(crate) fn start(name: &str) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let handle = runtime.handle().clone();
        let [soon, at_once, ended] = std::array::from_fn(|_| CancellationToken::new());
        let (told, tell) = ((soon.clone(), at_once.clone()), ended.clone().drop_guard());
        let run = move || {
            // Said when the runtime is gone, and all that was on it.
            let _tell = tell;
            let (soon, at_once) = told;
            runtime.block_on(async {
                let goodbye = async {
                    soon.cancelled().await;
                    tokio::time::sleep(GOODBYE).await;
                };
                tokio::select! {
                    () = goodbye => {}
                    () = at_once.cancelled() => {}
                }
            });
            drop(runtime);
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)?;
        Ok(Self {
            runtime: handle,
            at_once,
            ended,
            _soon: soon.drop_guard(),
        })
    }

    /// Ends it without a goodbye: what runs there is dropped where it is. Returns when it is.
    pub(crate) async fn end(&self) {
        self.at_once.cancel();
        self.ended.cancelled().await;
    }

    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.runtime.spawn(task)
    }
}
