use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Who is at each resource, and who stands in line for it. Clones are the same lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    turns: Arc<Mutex<HashMap<String, Arc<AsyncMutex<()>>>>>,
}

/// A turn at a resource, or a place in the line for it.
pub(super) struct Place {
    lines: Lines,
    resource: String,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Lines {
    /// Waits for the others, in the order in which they came.
    pub(super) async fn enter(&self, resource: &str) -> Place {
        let turn = Arc::clone(self.turns.lock().entry(resource.to_owned()).or_default());
        // Exists before the wait, so that a wait that is given up leaves nothing.
        let mut place = Place {
            lines: self.clone(),
            resource: resource.to_owned(),
            turn: None,
        };
        place.turn = Some(turn.lock_owned().await);
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turn = None;
        let mut turns = self.lines.turns.lock();
        // Clones are made under the same lock: nobody else has one, and nobody gets one.
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
    async fn one_at_a_time_and_nothing_is_left() {
        let lines = Lines::default();
        let first = lines.enter("a").await;
        let _other = lines.enter("b").await;
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
    async fn who_gives_up_the_wait_leaves_nothing() {
        let lines = Lines::default();
        let first = lines.enter("a").await;
        let mut second = Box::pin(lines.enter("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        drop(second);
        assert!(lines.turns.lock().is_empty());
    }
}
