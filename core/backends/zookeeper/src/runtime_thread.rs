//! A runtime on its own thread.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a future on a [`RuntimeThread`] has to shut down.
const GOODBYE: Duration = Duration::from_secs(1);

/// A runtime on its own thread, for futures that outlive the runtimes of their callers. The runtime ends soon after
/// this value is dropped.
#[derive(Debug)]
pub(crate) struct RuntimeThread {
    runtime: Handle,
    at_once: CancellationToken,
    ended: CancellationToken,
    _soon: DropGuard,
}

impl RuntimeThread {
    pub(crate) fn start(name: &str) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let handle = runtime.handle().clone();
        let [soon, at_once, ended] = std::array::from_fn(|_| CancellationToken::new());
        let (signals, tell) = ((soon.clone(), at_once.clone()), ended.clone().drop_guard());
        let run = move || {
            // This guard is dropped after the runtime and all of its tasks.
            let _tell = tell;
            let (soon, at_once) = signals;
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

    /// Ends the runtime without a grace period, which drops its futures. Returns when the futures are dropped.
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
