//! What wakes the futures of one waiter.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::local_queue::Wake;
use crate::clock::{self, LeaseInstant};

#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    told: AtomicUsize,
    now: Notify,
    first: Notify,
}

impl WakeUps {
    pub(super) fn wake(&self, wake: Wake) {
        match wake {
            Wake::Now => {
                self.told.fetch_add(1, Ordering::AcqRel);
                self.now.notify_one();
            }
            Wake::First => self.first.notify_one(),
        }
    }

    /// Waits until the waiter is to look at once, if it was not told already.
    pub(crate) async fn next(&self) {
        self.now.notified().await;
    }

    /// Waits until it has been the first in line for so long.
    pub(crate) async fn promoted(&self, since: Duration) {
        self.first.notified().await;
        clock::sleep_until(LeaseInstant::now().after(since)).await;
    }

    /// How often it was told to look at once.
    #[cfg(any(test, feature = "redlock"))]
    pub(crate) fn told(&self) -> usize {
        self.told.load(Ordering::Acquire)
    }

    /// What it was told is old news from here on.
    pub(crate) fn forget(&self) {
        self.told.store(0, Ordering::Release);
        let _old_news = self.now.notified().now_or_never();
    }
}
