//! What the body of a test uses of its run: managers and clients.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::join_all;

use super::faulted_client::Client;
use super::one_run::{Process, Run};
use crate::faulty_backend::Faulty;
use leasehold_core::LockManager;
use leasehold_core::backend::support::runtime::spawn_blocking;

/// One run of a chaos test.
#[derive(Debug, Clone)]
pub struct Chaos {
    run: Arc<Run>,
}

impl Chaos {
    pub(super) fn new(run: &Arc<Run>) -> Self {
        let run = Arc::clone(run);
        Self { run }
    }

    /// Returns a manager without faults, on the backend of the clients. Use it for the setup, or to inspect locks.
    #[must_use]
    pub fn locks(&self) -> LockManager {
        LockManager::new(self.run.backend.clone())
    }

    /// Runs a client: a process with its own manager, in which faults can happen. The future returns `None` if the
    /// client was cancelled. In `body`, the manager is also the [default](LockManager::as_default) for annotated
    /// functions.
    ///
    /// The clients of a run are numbered in the order of these calls. To run them concurrently, use `tokio::join!` or
    /// [`clients`](Self::clients).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::chaos::{self, Chaos};
    ///
    /// chaos::test(async |chaos: Chaos| {
    ///     let (reader, writer) = tokio::join!(
    ///         chaos.client(async |locks| locks.rw_lock("prices").read().acquire().await.is_ok()),
    ///         chaos.client(async |locks| locks.lock("prices").acquire().await.is_ok()),
    ///     );
    ///     assert!(!chaos.is_calm() || (reader == Some(true) && writer == Some(true)));
    /// });
    /// ```
    pub fn client<T, B>(&self, body: B) -> impl Future<Output = Option<T>> + use<T, B>
    where
        B: AsyncFnOnce(LockManager) -> T,
    {
        let process = Process::new(&self.run, self.run.next_client());
        let plan = Arc::clone(&process);
        let backend = Faulty::new(self.run.backend.clone(), move |call| plan.plan(call));
        let locks = LockManager::new(backend);
        let body = locks.as_default(body(locks.clone()));
        Client::new(process, locks, body)
    }

    /// Runs `count` clients concurrently, and returns their outputs: see [`client`](Self::client).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all bodies.
    pub async fn clients<T>(
        &self,
        count: usize,
        body: impl AsyncFn(LockManager) -> T,
    ) -> Vec<Option<T>> {
        join_all((0..count).map(|_| self.client(&body))).await
    }

    /// Awaits work outside the runtime of the run, such as opening a database. The paused clock does not advance before
    /// `work` has completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `work`.
    pub async fn outside<T>(&self, work: impl Future<Output = T>) -> T {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        // tokio does not advance the paused clock while a blocking task runs.
        let _clock_stands_still = spawn_blocking(move || {
            let _is_done = is_done.recv();
        });
        let output = work.await;
        drop(done);
        output
    }

    /// Returns whether this is the run without faults. Use it for assertions that hold only without faults.
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.run.case.is_none()
    }

    /// Returns the seed, for the random numbers of the body.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.run.seed
    }
}
