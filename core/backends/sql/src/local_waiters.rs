//! The waiters of this process, which a release of this process notifies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold_core::AttemptId;
use tokio::sync::Notify;

/// The waiters of this process, by the short hash of their ids. Other clients of the database can read notifications, so
/// notifications do not contain the ids.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<HashMap<String, Arc<Notify>>>);

impl Waiters {
    /// Adds a waiter, which is removed when the returned value is dropped.
    pub(super) fn register(self: &Arc<Self>, owner: AttemptId) -> Registration {
        let (waiters, name, wake_up) = (Arc::clone(self), owner.to_string(), Arc::default());
        waiters.all().insert(name.clone(), Arc::clone(&wake_up));
        Registration {
            waiters,
            name,
            wake_up,
        }
    }

    /// Returns whether a waiter is in this process.
    pub(super) fn contains(&self, waiter: &str) -> bool {
        self.all().contains_key(waiter)
    }

    /// Notifies a waiter if it is in this process. The waiter receives the notification even if it does not wait yet.
    pub(super) fn notify(&self, waiter: &str) {
        if let Some(wake_up) = self.all().get(waiter) {
            wake_up.notify_one();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiter that is registered.
#[derive(Debug)]
pub(super) struct Registration {
    waiters: Arc<Waiters>,
    name: String,
    wake_up: Arc<Notify>,
}

impl Registration {
    pub(super) fn wake_up(&self) -> Arc<Notify> {
        Arc::clone(&self.wake_up)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.waiters.all().remove(&self.name);
    }
}
