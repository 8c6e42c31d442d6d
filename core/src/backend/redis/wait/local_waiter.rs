//! The notifications and the local grant of one waiter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[cfg(any(test, feature = "redlock"))]
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::FencingToken;
use crate::clock::{self, LeaseInstant};

/// A lock that the release of another holder of this process has passed on to a waiter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalGrant {
    pub(crate) token: FencingToken,
    /// When that release was sent: from here on the lease counts.
    pub(crate) sent: LeaseInstant,
}

/// What a waiter was told.
#[derive(Debug, Default)]
pub(crate) struct LocalWaiter {
    /// The TTL of one that a lock can be passed on to.
    ttl: Option<Duration>,
    passed: Mutex<Option<LocalGrant>>,
    /// How many futures of the waiter there are. A task that was dropped with its runtime has none.
    present: AtomicUsize,
    /// How many there have been.
    comings: AtomicUsize,
    /// When it was first seen that none has come since so many.
    missed: Mutex<Option<(usize, LeaseInstant)>>,
    told: AtomicUsize,
    /// Whether the server has given it a place, as far as is known.
    is_queued: AtomicBool,
    notify: Notify,
    /// Rung when nobody of this process waits before it any more, or whoever does has been passed the lock.
    promotion: Notify,
}

impl LocalWaiter {
    pub(crate) fn new(ttl: Option<Duration>) -> Self {
        Self {
            ttl,
            ..Self::default()
        }
    }

    pub(crate) fn tell(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
        self.notify.notify_one();
    }

    pub(crate) fn mark_queued(&self) {
        self.is_queued.store(true, Ordering::Release);
    }

    /// Has it look, if it had a place.
    pub(crate) fn mark_unqueued(&self) {
        if self.is_queued.swap(false, Ordering::AcqRel) {
            self.tell();
        }
    }

    pub(crate) fn promote(&self) {
        self.promotion.notify_one();
    }

    /// Waits until it is told, if it was not already.
    pub(crate) async fn next(&self) {
        self.notify.notified().await;
    }

    /// Waits until it should look by itself: it is the first of its process since somebody else left, and was not
    /// served for so long. It was told to look seldom while another one did, and where the lock went all who would hand
    /// it on may have died.
    pub(crate) async fn promoted(&self, since: Duration) {
        self.promotion.notified().await;
        clock::sleep_until(LeaseInstant::now().after(since)).await;
    }

    /// How often it was told.
    #[cfg(any(test, feature = "redlock"))]
    pub(crate) fn told(&self) -> usize {
        self.told.load(Ordering::Acquire)
    }

    /// What it was told is old news from here on.
    #[cfg(any(test, feature = "redlock"))]
    pub(crate) fn forget(&self) {
        self.told.store(0, Ordering::Release);
        let _old_news = self.notify.notified().now_or_never();
    }

    /// The TTL of one that is there, and that a lock can be passed on to.
    pub(crate) fn can_be_granted(&self) -> Option<Duration> {
        let there = self.present.load(Ordering::Acquire) > 0 && !self.has_grant();
        there.then_some(self.ttl).flatten()
    }

    /// Whether no future of it has been seen for so long.
    pub(crate) fn is_abandoned(&self, long: Duration) -> bool {
        if self.present.load(Ordering::Acquire) > 0 {
            return false;
        }
        let comings = self.comings.load(Ordering::Acquire);
        let mut missed = self.missed.lock();
        let since = missed.filter(|(then, _)| *then == comings);
        let (_, since) = *missed.insert(since.unwrap_or_else(|| (comings, LeaseInstant::now())));
        since.after(long).has_passed()
    }

    /// Whether it has the lock, and has not looked since.
    pub(crate) fn has_grant(&self) -> bool {
        self.passed.lock().is_some()
    }

    pub(crate) fn pass(&self, passed: LocalGrant) {
        *self.passed.lock() = Some(passed);
        self.tell();
    }

    /// Takes what was passed on.
    pub(crate) fn take_grant(&self) -> Option<LocalGrant> {
        self.passed.lock().take()
    }
}

/// A future of a waiter.
#[derive(Debug)]
pub(crate) struct WaiterFutureGuard(Arc<LocalWaiter>);

impl WaiterFutureGuard {
    pub(crate) fn of(waiter: Arc<LocalWaiter>) -> Self {
        waiter.comings.fetch_add(1, Ordering::AcqRel);
        waiter.present.fetch_add(1, Ordering::AcqRel);
        Self(waiter)
    }

    pub(crate) fn waiter(&self) -> &LocalWaiter {
        &self.0
    }
}

impl Drop for WaiterFutureGuard {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}
