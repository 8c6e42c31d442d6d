use std::future::Future;
use std::time::Duration;
use std::{future, panic};

use leasehold_core::LockOptions;
use tokio::task::JoinError;
use tokio_util::either::Either;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

use crate::OnLoss;
use crate::methods::Methods;
use crate::problem::Refusal;

/// Determines what happens to a request if its client disconnects.
///
/// This applies whenever the future of the request is dropped. A server drops it when the connection has ended. An
/// outer layer, such as a timeout, can drop it, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// As without this layer, the handler is dropped at its current `.await`. The layer then releases the lock.
    ///
    /// Requests that the handler has already sent may still take effect. For example, a database does not cancel a
    /// statement that it has received, and may commit it while the next holder runs. If handlers write, fence the
    /// writes in a transaction that claims the resource first (`Fence::begin` of `leasehold-sqlx`), or use
    /// [`Continue`](Self::Continue).
    #[default]
    Cancel,
    /// The handler runs to its end in its own task, under the lock. The layer cancels a request that still waits for
    /// its lock.
    ///
    /// **Limit the time of such handlers.** A timeout outside of this layer responds to the client but does not end the
    /// handler. The layer drops a handler that hangs after [`max_hold`](crate::LockLayer::max_hold), by default 60 s.
    /// With [`OnLoss::Continue`] the layer then only releases the lock, so add a timeout inside of this layer.
    ///
    /// A server that shuts down waits for its connections but not for these tasks. Await
    /// [`LockLayer::finished`](crate::LockLayer::finished) before
    /// [`LockManager::shutdown`](leasehold_core::LockManager::shutdown). The task does not have the task-local values of
    /// other layers.
    Continue,
}

impl OnDisconnect {
    /// Runs `work` in the caller's future, or as one of these tasks.
    pub(crate) fn run<F>(
        self,
        tasks: &TaskTracker,
        work: F,
    ) -> impl Future<Output = F::Output> + Send + use<F>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        // This is not an `async fn`, which would store `work` several times.
        match self {
            Self::Cancel => Either::Left(work),
            Self::Continue => {
                let task = tasks.spawn(work.instrument(Span::current()));
                Either::Right(async {
                    match task.await {
                        Ok(output) => output,
                        Err(ended) => resume(ended).await,
                    }
                })
            }
        }
    }

    /// Waits until none of these tasks runs.
    pub(crate) async fn finished(tasks: &TaskTracker) {
        // `wait` requires a closed tracker. A closed tracker still spawns tasks.
        tasks.close();
        tasks.wait().await;
    }
}

/// Resumes a panic of the handler. If the runtime is shutting down instead, never returns.
async fn resume<T>(ended: JoinError) -> T {
    match ended.try_into_panic() {
        Ok(reason) => panic::resume_unwind(reason),
        Err(_) => future::pending().await,
    }
}

/// The longest hold time if neither the layer nor the manager sets one: 60 s.
pub const DEFAULT_MAX_HOLD: Duration = Duration::from_secs(60);

/// The longest hold time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum MaxHold {
    /// The manager's longest hold time, or the default of this crate if the manager does not have one.
    #[default]
    Unsaid,
    Most(Duration),
    AsManager,
}

impl MaxHold {
    /// Returns the longest hold time that the layer sets. Adds the time limit of a body to that of the handler.
    pub(super) fn of_layer(self, manager: Option<Duration>, until: Until) -> Option<Duration> {
        match (self, manager, until) {
            (Self::Most(most), _, _) => Some(most),
            (Self::AsManager, _, _) | (Self::Unsaid, Some(_), _) => None,
            (Self::Unsaid, None, Until::Response) => Some(DEFAULT_MAX_HOLD),
            (Self::Unsaid, None, Until::BodyEnd { most }) => {
                Some(DEFAULT_MAX_HOLD.saturating_add(most))
            }
        }
    }
}

/// Determines when the layer releases the lock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Until {
    #[default]
    Response,
    BodyEnd {
        most: Duration,
    },
}

/// Determines which requests may run concurrently.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Concurrency {
    #[default]
    Exclusive,
    Readers,
    /// At most this many concurrent requests.
    Others(u32),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) concurrency: Concurrency,
    pub(super) methods: Methods,
    pub(super) lock: LockOptions,
    pub(super) max_hold: MaxHold,
    pub(super) until: Until,
    pub(super) on_loss: OnLoss,
    pub(super) on_disconnect: OnDisconnect,
    /// The tasks of [`OnDisconnect::Continue`].
    pub(super) tasks: TaskTracker,
    pub(super) refusal: Refusal,
}
