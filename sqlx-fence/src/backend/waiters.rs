//! The waiters of this process, which a release of this process notifies.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leasehold::AttemptId;
use tokio::sync::Notify;

/// The time after which a waiter that neither waits nor repeats its attempt is removed.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The smallest number of waiters at which old waiters are removed.
const MANY: usize = 64;

/// The waiters of this process, by the short hash of their ids. Other clients of the database can read notifications, so
/// notifications do not contain the ids.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    registered: Mutex<Registered>,
}

#[derive(Debug, Default)]
struct Registered {
    waiters: HashMap<String, Waiter>,
    /// The number of waiters at which old waiters are removed.
    limit: usize,
}

#[derive(Debug)]
struct Waiter {
    wake_up: Arc<Notify>,
    polled: Instant,
}

impl Waiters {
    /// Adds a waiter, or renews its registration. Returns whether the waiter is new.
    pub(super) fn register(&self, owner: AttemptId) -> bool {
        let now = Instant::now();
        let mut registered = self.registered();
        if registered.waiters.len() >= registered.limit.max(MANY) {
            registered.waiters.retain(|_, it| {
                Arc::strong_count(&it.wake_up) > 1 || now - it.polled < FORGET_AFTER
            });
            registered.limit = registered.waiters.len() * 2;
        }
        let (wake_up, polled) = (Arc::default(), now);
        match registered.waiters.entry(owner.to_string()) {
            Entry::Occupied(mut entry) => {
                entry.get_mut().polled = now;
                false
            }
            Entry::Vacant(entry) => {
                entry.insert(Waiter { wake_up, polled });
                true
            }
        }
    }

    pub(super) fn find(&self, waiter: &str) -> Option<Arc<Notify>> {
        let registered = self.registered();
        registered
            .waiters
            .get(waiter)
            .map(|it| Arc::clone(&it.wake_up))
    }

    /// Notifies a waiter if it is in this process. The waiter receives the notification even if it does not wait yet.
    pub(super) fn notify(&self, waiter: &str) {
        if let Some(waiter) = self.registered().waiters.get(waiter) {
            waiter.wake_up.notify_one();
        }
    }

    pub(super) fn remove(&self, owner: AttemptId) {
        self.registered().waiters.remove(&owner.to_string());
    }

    fn registered(&self) -> MutexGuard<'_, Registered> {
        self.registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
