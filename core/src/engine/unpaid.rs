use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Engine;

/// What is owed to the backend, and is seen to in the background. A shutdown waits for it, and counts it if it came to
/// nothing: also if its task was dropped with its runtime.
#[derive(Debug)]
pub(super) struct Unpaid {
    engine: Arc<Engine>,
    is_paid: bool,
    _waited_for: TaskTrackerToken,
}

impl Unpaid {
    pub(super) fn new(engine: &Arc<Engine>, waited_for: TaskTrackerToken) -> Self {
        Self {
            engine: Arc::clone(engine),
            is_paid: false,
            _waited_for: waited_for,
        }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn paid(mut self) {
        self.is_paid = true;
    }
}

impl Drop for Unpaid {
    fn drop(&mut self) {
        if !self.is_paid {
            self.engine.give_up();
        }
    }
}
