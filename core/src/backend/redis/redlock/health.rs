use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Moment;

/// Whether a node is asked.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Up,
    Down {
        why: String,
        /// Until when somebody says to look at it.
        watched_until: Option<Moment>,
    },
    /// For good.
    Closed,
}

impl Health {
    /// Why it is down, if it is.
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.0.lock() {
            State::Up => None,
            State::Down { why, .. } => Some(why.clone()),
            State::Closed => Some("the manager was closed".to_owned()),
        }
    }

    pub(super) fn fell(&self, reason: String) {
        let mut state = self.0.lock();
        match &mut *state {
            State::Up => {
                *state = State::Down {
                    why: reason,
                    watched_until: None,
                };
            }
            State::Down { why, .. } => *why = reason,
            State::Closed => {}
        }
    }

    /// Takes the watch over, for so long, if it is down and nobody has it.
    pub(super) fn take_watch(&self, length: Duration) -> bool {
        let mut state = self.0.lock();
        let State::Down { watched_until, .. } = &mut *state else {
            return false;
        };
        // Nobody may be driving the runtime of whoever said so.
        let is_free = watched_until.is_none_or(Moment::has_passed);
        if is_free {
            *watched_until = Some(Moment::now().after(length));
        }
        is_free
    }

    /// Goes on watching for so long, or says that there is nothing to watch any more.
    pub(super) fn keep_watch(&self, length: Duration) -> bool {
        match &mut *self.0.lock() {
            State::Down { watched_until, .. } => {
                *watched_until = Some(Moment::now().after(length));
                true
            }
            State::Up | State::Closed => false,
        }
    }

    pub(super) fn leave_watch(&self) {
        if let State::Down { watched_until, .. } = &mut *self.0.lock() {
            *watched_until = None;
        }
    }

    /// It is up, if `paid` still says so with the door held.
    pub(super) fn rises(&self, paid: impl FnOnce() -> bool) -> bool {
        let mut state = self.0.lock();
        let rises = paid();
        if rises && matches!(&*state, State::Down { .. }) {
            *state = State::Up;
        }
        rises
    }

    pub(super) fn close(&self) {
        *self.0.lock() = State::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_something_stays_down_and_what_was_closed_stays_closed() {
        let health = Health::default();
        health.fell("silent".to_owned());
        assert!(!health.rises(|| false));
        assert_eq!(health.trouble().as_deref(), Some("silent"));
        assert!(health.rises(|| true));
        assert_eq!(health.trouble(), None);
        health.close();
        let closed = health.trouble();
        assert!(closed.is_some());
        health.fell("silent".to_owned());
        health.rises(|| true);
        assert_eq!(health.trouble(), closed);
    }
}
