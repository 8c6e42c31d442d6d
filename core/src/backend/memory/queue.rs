use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::OwnerId;

/// How long a waiter that falls silent keeps its place.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// How often a waiter repeats its attempt to keep its place.
pub(super) const REFRESH: Duration = Duration::from_secs(2);

/// Those who wait for one key, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    owner: OwnerId,
    until: Instant,
    wake_up: Arc<Notify>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Enters `owner` at the end, or refreshes the lease on the place it has. Answers whether it is first.
    pub(super) fn enter(&mut self, owner: OwnerId, now: Instant) -> bool {
        let until = now + WAITER_LEASE;
        match self.waiters.iter_mut().position(|w| w.owner == owner) {
            Some(place) => {
                self.waiters[place].until = until;
                place == 0
            }
            None => {
                self.waiters.push_back(Waiter {
                    owner,
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

    pub(super) fn drop_silent(&mut self, now: Instant) {
        self.waiters.retain(|w| w.until > now);
    }

    /// Wakes the first waiter. Its place ends with its grant, so that one who does not confirm stands
    /// in nobody's way.
    pub(super) fn wake_first(&mut self, grant_ends: Instant) -> Option<OwnerId> {
        let first = self.waiters.front_mut()?;
        first.until = grant_ends;
        first.wake_up.notify_one();
        Some(first.owner)
    }

    pub(super) fn wake_up(&self, owner: OwnerId) -> Option<Arc<Notify>> {
        let waiter = self.waiters.iter().find(|w| w.owner == owner)?;
        Some(Arc::clone(&waiter.wake_up))
    }
}
