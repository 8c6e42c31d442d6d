//! Receives the notifications of other processes in the background.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::Pool;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::database::LockDatabase;
use super::waiters::Waiters;

/// The smallest size of a pool that lends a connection to the listener.
const LEAST_CONNECTIONS: u32 = 3;

/// The pause after the listener has lost its connection.
const PAUSE: Duration = Duration::from_secs(1);

/// A task that notifies the waiters of this process. The task ends when this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Listener {
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listener {
    /// Starts the task if it does not run. It also ends with its runtime.
    pub(super) fn start<DB: LockDatabase>(&self, pool: &Pool<DB>, waiters: &Arc<Waiters>) {
        if !DB::NOTIFIES || pool.options().get_max_connections() < LEAST_CONNECTIONS {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let (pool, waiters) = (pool.clone(), Arc::clone(waiters));
            *task = Some(runtime.spawn(async move {
                while !pool.is_closed() {
                    // Waiters poll while the listener has no connection, so an error is not reported.
                    let _lost = DB::listen(&pool, &|waiter| waiters.notify(waiter)).await;
                    sleep(PAUSE).await;
                }
            }));
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
