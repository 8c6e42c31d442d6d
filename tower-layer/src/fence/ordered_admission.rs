use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};

use crate::limited_acquire::DEFAULT_MAX_WAITERS;

/// The active request of each resource, and its wait queue. Clones share the queues.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    turns: Arc<Mutex<HashMap<String, Arc<AsyncMutex<()>>>>>,
    /// One permit for each request that may wait.
    waiters: Arc<Semaphore>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            turns: Arc::default(),
            waiters: Arc::new(Semaphore::new(DEFAULT_MAX_WAITERS)),
        }
    }
}

/// The turn of a request at a resource, or its position in the wait queue.
pub(super) struct Place {
    lines: Lines,
    resource: String,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Lines {
    pub(super) fn max_waiters(&mut self, most: usize) {
        self.waiters = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    }

    /// Waits for the turn, in the order of arrival. Returns `None` if the maximum number of requests already wait.
    pub(super) async fn enter(&self, resource: &str) -> Option<Place> {
        // Create the place before the wait, so that a cancelled wait removes its entry.
        let mut place = Place {
            lines: self.clone(),
            resource: resource.to_owned(),
            turn: None,
        };
        let turn = Arc::clone(self.turns.lock().entry(resource.to_owned()).or_default());
        place.turn = Some(match Arc::clone(&turn).try_lock_owned() {
            Ok(turn) => turn,
            Err(_) => {
                let _waiting = self.waiters.try_acquire().ok()?;
                turn.lock_owned().await
            }
        });
        Some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turn = None;
        let mut turns = self.lines.turns.lock();
        // `enter` clones the turn under the same mutex. So if the count is one, no other request has or gets a clone.
        if turns
            .get(&self.resource)
            .is_some_and(|it| Arc::strong_count(it) == 1)
        {
            turns.remove(&self.resource);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_take_turns_in_order_and_leave_no_entry() {
        let lines = Lines::default();
        let first = lines.enter("a").await.unwrap();
        let _other = lines.enter("b").await.unwrap();
        let mut second = Box::pin(lines.enter("a"));
        let mut third = Box::pin(lines.enter("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut third).is_pending(), "out of turn");
        drop(second.await);
        drop(third.await);
        assert_eq!(lines.turns.lock().len(), 1);
    }

    #[tokio::test]
    async fn enter_refuses_more_than_max_waiters_and_leaves_no_entry() {
        let mut lines = Lines::default();
        lines.max_waiters(1);
        let first = lines.enter("a").await;
        let mut second = Box::pin(lines.enter("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(lines.enter("a").await.is_none());
        let other = lines.enter("b").await;
        assert!(other.is_some(), "no request waits for this resource");
        drop((first, other));
        assert!(second.await.is_some());
        assert!(lines.turns.lock().is_empty());
    }

    #[tokio::test]
    async fn cancelled_wait_leaves_no_entry() {
        let lines = Lines::default();
        let first = lines.enter("a").await;
        let mut second = Box::pin(lines.enter("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        drop(second);
        assert!(lines.turns.lock().is_empty());
    }
}
