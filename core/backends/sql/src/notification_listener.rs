//! Receives the notifications of other processes in the background.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use leasehold_core::AttemptId;
use sqlx::Pool;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::database::LockDatabase;
use super::error;
use super::local_keys::{GRANT, LocalKeys};
use super::local_waiters::Waiters;
use leasehold_core::backend::support::event;

/// The smallest size of a pool that lends a connection to the listener.
const LEAST_CONNECTIONS: u32 = 3;

/// The pause after the listener has lost its connection.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause after notifications did not arrive, for example because a pooler does not forward them. Each try may leave
/// a `LISTEN` in a connection of the pooler.
const LONG_PAUSE: Duration = Duration::from_secs(600);

/// The interval between two probes, the time limit of a probe, and the pause between two tries of one probe.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
const PROBE_LIMIT: Duration = Duration::from_secs(5);
const PROBE_PAUSE: Duration = Duration::from_millis(250);

/// A task that notifies the waiters of this process. The task ends when this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Listener {
    task: Mutex<Option<JoinHandle<()>>>,
    /// The time since which notifications arrive.
    since: watch::Sender<Option<Instant>>,
    /// Whether the database has refused to notify, because the role may not, or the database has no `pg_notify`.
    is_refused: AtomicBool,
}

impl Listener {
    /// Starts the task if it does not run. It also ends with its runtime.
    pub(super) fn start<DB: LockDatabase>(
        &self,
        pool: &Pool<DB>,
        waiters: &Arc<Waiters>,
        local: &Arc<LocalKeys>,
    ) {
        if !DB::NOTIFIES || pool.options().get_max_connections() < LEAST_CONNECTIONS {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            // The task may have ended with its runtime.
            self.since.send_replace(None);
            let (pool, waiters, local) = (pool.clone(), Arc::clone(waiters), Arc::clone(local));
            let since = self.since.clone();
            *task = Some(runtime.spawn(async move {
                while !pool.is_closed() {
                    let pause = listen(&pool, &waiters, &local, &since).await;
                    since.send_replace(None);
                    sleep(pause).await;
                }
            }));
        }
    }

    /// Returns whether the database notifies waiters, as far as this process knows.
    pub(super) fn can_notify(&self) -> bool {
        !self.is_refused.load(Ordering::Relaxed)
    }

    /// Stops all notifications of this process, because the database refuses them.
    pub(super) fn refuse(&self, reason: &sqlx::Error) {
        if !self.is_refused.swap(true, Ordering::Relaxed) {
            event!(
                warn,
                "leasehold.no_notifications",
                { error = reason as &dyn std::error::Error },
                "the database refuses `pg_notify`, so waiters in other processes poll: GRANT EXECUTE ON FUNCTION pg_notify TO the role"
            );
        }
    }

    /// Returns the time since which notifications arrive, and its changes.
    pub(super) fn notified(&self) -> watch::Receiver<Option<Instant>> {
        self.since.subscribe()
    }
}

/// Listens until the connection is lost or a probe does not arrive. Returns the pause before the next try.
async fn listen<DB: LockDatabase>(
    pool: &Pool<DB>,
    waiters: &Waiters,
    local: &LocalKeys,
    since: &watch::Sender<Option<Instant>>,
) -> Duration {
    let (probe, arrived) = (AttemptId::random().to_string(), Notify::new());
    let heard = |notification: &str| match notification == probe {
        true => arrived.notify_one(),
        false if notification.starts_with(GRANT) => local.expect_expiry(notification),
        false => waiters.notify(notification),
    };
    let probes = async {
        while send_probe(pool, &probe, &arrived).await {
            since.send_if_modified(|it| {
                let is_first = it.is_none();
                it.get_or_insert_with(Instant::now);
                is_first
            });
            sleep(PROBE_INTERVAL).await;
        }
    };
    tokio::select! {
        // Waiters poll while notifications do not arrive, so an error is not reported.
        lost = DB::listen(pool, &heard) => match lost {
            Ok(false) => LONG_PAUSE,
            Err(error) if error::is_unavailable(&error) => LONG_PAUSE,
            Ok(true) | Err(_) => PAUSE,
        },
        () = probes => LONG_PAUSE,
    }
}

/// Sends a probe through the pool until it arrives. The first one may be sent before the listener listens. Returns false
/// if the database refuses it, or if none arrives within the limit after the database has accepted one.
async fn send_probe<DB: LockDatabase>(pool: &Pool<DB>, probe: &str, arrived: &Notify) -> bool {
    // An earlier probe may have arrived twice.
    let _earlier = arrived.notified().now_or_never();
    let mut accepted: Option<Instant> = None;
    loop {
        if let Ok(mut connection) = pool.acquire().await {
            match DB::notify(&mut connection, probe).await {
                Ok(()) => drop(accepted.get_or_insert_with(Instant::now)),
                Err(refused) if error::is_unavailable(&refused) => return false,
                Err(_) => {}
            }
        }
        if timeout(PROBE_PAUSE, arrived.notified()).await.is_ok() {
            return true;
        }
        if accepted.is_some_and(|it| it.elapsed() > PROBE_LIMIT) {
            return false;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task {
            task.abort();
        }
    }
}
