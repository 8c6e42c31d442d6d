//! What one waiter was told, and what it was given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::FencingToken;
use crate::clock::{self, Moment};

/// A lock that the release of another holder of this process has passed on to a waiter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) token: FencingToken,
    /// When that release was sent: from here on the lease counts.
    pub(super) sent: Moment,
}

/// What a waiter was told.
#[derive(Debug, Default)]
pub(super) struct WakeUps {
    /// The TTL of one that a lock can be passed on to.
    ttl: Option<Duration>,
    passed: Mutex<Option<Passed>>,
    /// How many futures of the waiter there are. A task that was dropped with its runtime has none.
    present: AtomicUsize,
    /// How many there have been.
    comings: AtomicUsize,
    /// When it was first seen that none has come since so many.
    missed: Mutex<Option<(usize, Moment)>>,
    told: AtomicUsize,
    /// Whether the server has given it a place, as far as is known.
    has_place: AtomicBool,
    bell: Notify,
    /// Rung when nobody of this process waits before it any more, or whoever does has been passed the lock.
    promotion: Notify,
}

impl WakeUps {
    pub(super) fn new(ttl: Option<Duration>) -> Self {
        Self {
            ttl,
            ..Self::default()
        }
    }

    pub(super) fn tell(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
        self.bell.notify_one();
    }

    pub(super) fn has_place(&self) {
        self.has_place.store(true, Ordering::Release);
    }

    /// Has it look, if it had a place.
    pub(super) fn lose_place(&self) {
        if self.has_place.swap(false, Ordering::AcqRel) {
            self.tell();
        }
    }

    pub(super) fn promote(&self) {
        self.promotion.notify_one();
    }

    /// Waits until it is told, if it was not already.
    pub(super) async fn next(&self) {
        self.bell.notified().await;
    }

    /// Waits until it should look by itself: it is the first of its process since somebody else left, and was not
    /// served for so long. It was told to look seldom while another one did, and where the lock went all who would hand
    /// it on may have died.
    pub(super) async fn promoted(&self, since: Duration) {
        self.promotion.notified().await;
        clock::sleep_until(Moment::now().after(since)).await;
    }

    /// How often it was told.
    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::Acquire)
    }

    /// What it was told is old news from here on.
    pub(super) fn forget(&self) {
        self.told.store(0, Ordering::Release);
        let _old_news = self.bell.notified().now_or_never();
    }

    /// The TTL of one that is there, and that a lock can be passed on to.
    pub(super) fn passable(&self) -> Option<Duration> {
        let there = self.present.load(Ordering::Acquire) > 0 && !self.was_passed();
        there.then_some(self.ttl).flatten()
    }

    /// Whether no future of it has been seen for so long.
    pub(super) fn is_gone(&self, long: Duration) -> bool {
        if self.present.load(Ordering::Acquire) > 0 {
            return false;
        }
        let comings = self.comings.load(Ordering::Acquire);
        let mut missed = self.missed.lock();
        let since = missed.filter(|(then, _)| *then == comings);
        let (_, since) = *missed.insert(since.unwrap_or_else(|| (comings, Moment::now())));
        since.after(long).has_passed()
    }

    /// Whether it has the lock, and has not looked since.
    pub(super) fn was_passed(&self) -> bool {
        self.passed.lock().is_some()
    }

    pub(super) fn pass(&self, passed: Passed) {
        *self.passed.lock() = Some(passed);
        self.tell();
    }

    /// Takes what was passed on.
    pub(super) fn take_passed(&self) -> Option<Passed> {
        self.passed.lock().take()
    }
}

/// A future of a waiter.
#[derive(Debug)]
pub(super) struct Presence(Arc<WakeUps>);

impl Presence {
    pub(super) fn of(waiter: Arc<WakeUps>) -> Self {
        waiter.comings.fetch_add(1, Ordering::AcqRel);
        waiter.present.fetch_add(1, Ordering::AcqRel);
        Self(waiter)
    }

    pub(super) fn waiter(&self) -> &WakeUps {
        &self.0
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}
