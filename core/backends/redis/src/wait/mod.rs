//! The waiters of this process: queues, notifications, and hand-offs inside the process.

pub(crate) mod local_queue;
pub(crate) mod release_to_local_waiter;
mod waiter_queues;
pub(crate) mod waiter_registry;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;

use leasehold_core::backend::support::clock::{self, LeaseInstant};
use local_queue::Wake;

/// Wakes the futures of one waiter.
#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    notifications: AtomicUsize,
    now: Notify,
    first: Notify,
}

impl WakeUps {
    fn wake(&self, wake: Wake) {
        match wake {
            Wake::Now => {
                self.notifications.fetch_add(1, Ordering::AcqRel);
                self.now.notify_one();
            }
            Wake::First => self.first.notify_one(),
        }
    }

    /// Waits for a notification to poll immediately. Returns without waiting if a notification is stored.
    pub(crate) async fn next(&self) {
        self.now.notified().await;
    }

    /// Waits until the waiter becomes the first in the queue, and then for `since`.
    pub(crate) async fn promoted(&self, since: Duration) {
        self.first.notified().await;
        clock::sleep_until(LeaseInstant::now().after(since)).await;
    }

    /// Returns the number of notifications to poll immediately.
    pub(crate) fn notifications(&self) -> usize {
        self.notifications.load(Ordering::Acquire)
    }

    /// Discards earlier notifications.
    pub(crate) fn forget(&self) {
        self.notifications.store(0, Ordering::Release);
        let _old_news = self.now.notified().now_or_never();
    }
}
