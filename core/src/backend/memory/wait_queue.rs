//! The waiters of one key, first in, first out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::OwnerId;
use crate::backend::Mode;

/// How long a waiter that falls silent keeps its place.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// How often a waiter repeats its attempt to keep its place.
pub(super) const REFRESH: Duration = Duration::from_secs(2);

/// Those who wait for one key, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    waiters: VecDeque<QueuedWaiter>,
}

#[derive(Debug)]
struct QueuedWaiter {
    owner: OwnerId,
    mode: Mode,
    until: Instant,
    wake_up: Arc<Notify>,
}

impl WaitQueue {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Enters `owner` at the end, or refreshes the lease on the place it has. Answers whether it is first.
    pub(super) fn enter(&mut self, owner: OwnerId, mode: Mode, now: Instant) -> bool {
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

    pub(super) fn remove(&mut self, owner: OwnerId) {
        self.waiters.retain(|w| w.owner != owner);
    }

    pub(super) fn drop_expired(&mut self, now: Instant) {
        self.waiters.retain(|w| w.until > now);
    }

    /// Who stands at `place`, counted from the front.
    pub(super) fn at(&self, place: usize) -> Option<(OwnerId, Mode)> {
        self.waiters.get(place).map(|w| (w.owner, w.mode))
    }

    /// Whether somebody stands before `owner` who has not been let in; without a place of its own, all do.
    pub(super) fn is_before(&self, owner: OwnerId, let_in: impl Fn(OwnerId) -> bool) -> bool {
        let mut before = self.waiters.iter().take_while(|w| w.owner != owner);
        before.any(|w| !let_in(w.owner))
    }

    /// Wakes a waiter. Its place ends with its grant, so that one who does not confirm stands in nobody's
    /// way.
    pub(super) fn wake(&mut self, place: usize, grant_ends: Instant) {
        if let Some(waiter) = self.waiters.get_mut(place) {
            waiter.until = grant_ends;
            waiter.wake_up.notify_one();
        }
    }

    pub(super) fn wake_up(&self, owner: OwnerId) -> Option<Arc<Notify>> {
        let waiter = self.waiters.iter().find(|w| w.owner == owner)?;
        Some(Arc::clone(&waiter.wake_up))
    }
}
