//! The waiters of one key, first in, first out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::AttemptId;
use crate::backend::Mode;

/// The time after which a waiter that stops polling loses its position.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// The interval at which a waiter repeats its attempt to keep its position.
pub(super) const REFRESH: Duration = Duration::from_secs(2);

/// The waiters of one key, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    waiters: VecDeque<QueuedWaiter>,
}

#[derive(Debug)]
struct QueuedWaiter {
    owner: AttemptId,
    mode: Mode,
    until: Instant,
    wake_up: Arc<Notify>,
}

impl WaitQueue {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Adds `owner` at the end of the queue, or renews the lease of its position. Returns whether `owner` is first.
    pub(super) fn enter(&mut self, owner: AttemptId, mode: Mode, now: Instant) -> bool {
        let until = now + WAITER_LEASE;
        match self.waiters.iter_mut().position(|w| w.owner == owner) {
            Some(place) => {
                self.waiters[place].until = until;
                place == 0
            }
            None => {
                self.waiters.push_back(QueuedWaiter {
                    owner,
                    mode,
                    until,
                    wake_up: Arc::default(),
                });
                self.waiters.len() == 1
            }
        }
    }

    pub(super) fn remove(&mut self, owner: AttemptId) {
        self.waiters.retain(|w| w.owner != owner);
    }

    pub(super) fn drop_expired(&mut self, now: Instant) {
        self.waiters.retain(|w| w.until > now);
    }

    /// Returns the waiter at position `place`, counted from the front.
    pub(super) fn at(&self, place: usize) -> Option<(AttemptId, Mode)> {
        self.waiters.get(place).map(|w| (w.owner, w.mode))
    }

    /// Returns whether a waiter before `owner` has not received a grant. If `owner` is not in the queue, checks all
    /// waiters.
    pub(super) fn is_before(&self, owner: AttemptId, let_in: impl Fn(AttemptId) -> bool) -> bool {
        let mut before = self.waiters.iter().take_while(|w| w.owner != owner);
        before.any(|w| !let_in(w.owner))
    }

    /// Notifies a waiter. The waiter's position expires together with its grant. So a waiter that does not confirm the
    /// grant does not block others.
    pub(super) fn wake(&mut self, place: usize, grant_ends: Instant) {
        if let Some(waiter) = self.waiters.get_mut(place) {
            waiter.until = grant_ends;
            waiter.wake_up.notify_one();
        }
    }

    /// Removes and notifies all waiters. Each of them repeats its attempt.
    pub(super) fn wake_all(&mut self) {
        for waiter in self.waiters.drain(..) {
            waiter.wake_up.notify_one();
        }
    }

    /// Makes the first waiter repeat its attempt, without a grant.
    pub(super) fn notify_first(&self) {
        if let Some(first) = self.waiters.front() {
            first.wake_up.notify_one();
        }
    }

    pub(super) fn wake_up(&self, owner: AttemptId) -> Option<Arc<Notify>> {
        let waiter = self.waiters.iter().find(|w| w.owner == owner)?;
        Some(Arc::clone(&waiter.wake_up))
    }
}
