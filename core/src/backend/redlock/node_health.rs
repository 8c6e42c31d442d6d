//! Which nodes are up and which are down.

use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::LeaseInstant;

/// Whether a node is asked.
#[derive(Debug, Default)]
pub(super) struct NodeHealth(Mutex<HealthState>);

#[derive(Debug, Default)]
enum HealthState {
    #[default]
    Up,
    Down {
        why: String,
        /// Until when somebody says to look at it.
        watched_until: Option<LeaseInstant>,
    },
    /// For good.
    Closed,
}

impl NodeHealth {
    /// Why it is down, if it is.
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.0.lock() {
            HealthState::Up => None,
            HealthState::Down { why, .. } => Some(why.clone()),
            HealthState::Closed => Some("the manager was closed".to_owned()),
        }
    }

    pub(super) fn mark_down(&self, reason: String) {
        let mut state = self.0.lock();
        match &mut *state {
            HealthState::Up => {
                *state = HealthState::Down {
                    why: reason,
                    watched_until: None,
                };
            }
            HealthState::Down { why, .. } => *why = reason,
            HealthState::Closed => {}
        }
    }

    /// Takes the watch over, for so long, if it is down and nobody has it.
    pub(super) fn begin_probe(&self, length: Duration) -> bool {
        let mut state = self.0.lock();
        let HealthState::Down { watched_until, .. } = &mut *state else {
            return false;
        };
        // Nobody may be driving the runtime of whoever said so.
        let is_free = watched_until.is_none_or(LeaseInstant::has_passed);
        if is_free {
            *watched_until = Some(LeaseInstant::now().after(length));
        }
        is_free
    }

    /// Goes on watching for so long, or says that there is nothing to watch any more.
    pub(super) fn continue_probe(&self, length: Duration) -> bool {
        match &mut *self.0.lock() {
            HealthState::Down { watched_until, .. } => {
                *watched_until = Some(LeaseInstant::now().after(length));
                true
            }
            HealthState::Up | HealthState::Closed => false,
        }
    }

    pub(super) fn end_probe(&self) {
        if let HealthState::Down { watched_until, .. } = &mut *self.0.lock() {
            *watched_until = None;
        }
    }

    /// It is up, if `paid` still says so with the door held.
    pub(super) fn mark_up(&self, paid: impl FnOnce() -> bool) -> bool {
        let mut state = self.0.lock();
        let mark_up = paid();
        if mark_up && matches!(&*state, HealthState::Down { .. }) {
            *state = HealthState::Up;
        }
        mark_up
    }

    pub(super) fn close(&self) {
        *self.0.lock() = HealthState::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_something_stays_down_and_what_was_closed_stays_closed() {
        let health = NodeHealth::default();
        health.mark_down("silent".to_owned());
        assert!(!health.mark_up(|| false));
        assert_eq!(health.trouble().as_deref(), Some("silent"));
        assert!(health.mark_up(|| true));
        assert_eq!(health.trouble(), None);
        health.close();
        let closed = health.trouble();
        assert!(closed.is_some());
        health.mark_down("silent".to_owned());
        health.mark_up(|| true);
        assert_eq!(health.trouble(), closed);
    }
}
