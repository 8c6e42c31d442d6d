//! Tracks which nodes are up and which are down.

use std::time::Duration;

use parking_lot::Mutex;

use leasehold_core::backend::support::clock::LeaseInstant;

/// Whether the client sends requests to a node.
#[derive(Debug, Default)]
pub(super) struct NodeHealth(Mutex<HealthState>);

#[derive(Debug, Default)]
enum HealthState {
    #[default]
    Up,
    Down {
        why: String,
        /// The time until which a probe watches the node.
        watched_until: Option<LeaseInstant>,
    },
    /// The node is down permanently.
    Closed,
}

impl NodeHealth {
    /// Returns the reason why the node is down, if it is down.
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

    /// Starts a probe for `length`, if the node is down and no probe is running.
    pub(super) fn begin_probe(&self, length: Duration) -> bool {
        let mut state = self.0.lock();
        let HealthState::Down { watched_until, .. } = &mut *state else {
            return false;
        };
        // The runtime of the last probe may not be driven.
        let is_free = watched_until.is_none_or(LeaseInstant::has_passed);
        if is_free {
            *watched_until = Some(LeaseInstant::now().after(length));
        }
        is_free
    }

    /// Extends the probe by `length`. Returns false if the node does not need a probe.
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

    /// Marks the node as up, if `is_confirmed` returns true under the mutex.
    pub(super) fn mark_up(&self, is_confirmed: impl FnOnce() -> bool) -> bool {
        let mut state = self.0.lock();
        let mark_up = is_confirmed();
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
    fn a_node_stays_down_with_pending_releases_and_closed_after_a_close() {
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
