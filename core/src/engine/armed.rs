use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Engine;
use super::call::{Backoff, at_once, bounded, bounded_since};
use crate::backend::{Applied, Attempt, AttemptAnswer, BackendError};
use crate::clock::Moment;
use crate::observe;
use crate::runtime::Runtime;

/// An attempt whose cleanup exists before its first byte is sent.
///
/// A backend may apply a request whose answer never arrives, and a caller may drop the future at any
/// point. So the attempt is armed before each sending, and disarmed only by an answer after which
/// there is nothing to undo. Dropped armed, it is cleaned up in the background: repeated until that
/// is confirmed, or until all that the attempt may have left has run out by itself.
#[derive(Debug)]
pub(super) struct Armed<'a> {
    pub(super) attempt: Attempt,
    pub(super) runtime: &'a Runtime,
    engine: &'a Arc<Engine>,
    armed: bool,
    left_traces: bool,
    /// A shutdown waits for acquires that are under way.
    _under_way: TaskTrackerToken,
}

impl<'a> Armed<'a> {
    pub(super) fn new(engine: &'a Arc<Engine>, attempt: Attempt, runtime: &'a Runtime) -> Self {
        Self {
            attempt,
            runtime,
            armed: false,
            left_traces: false,
            _under_way: engine.unfinished.token(),
            engine,
        }
    }

    /// Sends the request, or a further copy of it, at the moment `sent`. Says, too, when the answer came,
    /// where that takes no look at the clock.
    pub(super) async fn ask(
        &mut self,
        sent: Moment,
        limit: Duration,
    ) -> (Result<AttemptAnswer, BackendError>, Option<Moment>) {
        self.armed = true;
        let backend = &self.engine.backend;
        let (answer, answered) = match at_once(|| backend.attempt_now(&self.attempt)) {
            Some(answer) => (answer, Some(sent)),
            None => {
                let attempt = async { backend.attempt(&self.attempt).await };
                (bounded_since(sent, limit, attempt).await, None)
            }
        };
        self.left_traces |= match &answer {
            Ok(AttemptAnswer::Granted { .. }) => true,
            Ok(AttemptAnswer::Busy { .. }) => self.attempt.queue,
            Ok(AttemptAnswer::Refused(_)) => false,
            Err(error) => error.applied() == Applied::Unknown,
        };
        self.armed = self.left_traces;
        (answer, answered)
    }

    /// Whether the backend may have, or come to have, a grant for this attempt.
    pub(super) fn applied(&self) -> Applied {
        if self.left_traces {
            Applied::Unknown
        } else {
            Applied::No
        }
    }

    /// The grant is somebody else's to release from here on.
    pub(super) fn hand_over(&mut self) {
        self.armed = false;
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (engine, attempt) = (Arc::clone(self.engine), self.attempt.clone());
        let cleanup = clean_up(engine, attempt);
        self.runtime
            .spawn_here(self.engine.unfinished.track_future(cleanup));
    }
}

async fn clean_up(engine: Arc<Engine>, attempt: Attempt) {
    let end = engine.background_end(attempt.ttl);
    let mut backoff = Backoff::default();
    let command = || async { engine.backend.cleanup(&attempt).await };
    while let Err(error) = bounded(engine.limits.command, command()).await {
        observe::cleanup_failed(&attempt, &error);
        if backoff.pause_after(error, end).await.is_err() {
            return;
        }
    }
    observe::cleaned_up(&attempt);
}
