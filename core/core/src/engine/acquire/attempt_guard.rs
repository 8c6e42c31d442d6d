//! The guard of an attempt: its cleanup exists before its first request is sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::backend::{Applied, Attempt, AttemptAnswer, Backend, BackendError};
use crate::clock::{ClockReading, LeaseInstant};
use crate::engine::backend_call_timeout::{at_once, bounded, bounded_since};
use crate::engine::background_work::BackgroundWork;
use crate::engine::retry_backoff::Backoff;
use crate::engine::{Engine, Hold, Lease};
use crate::options::AcquireOptions;
use crate::runtime::Runtime;
use crate::{Error, FencingToken, events};

/// An attempt, with a cleanup that exists before the first request is sent.
///
/// A backend may apply a request, and its reply may be lost. A caller may also drop the future at any point. So the
/// guard is armed before each request. Only a reply that leaves nothing to undo disarms the guard. Dropping an armed
/// guard starts a cleanup in the background. The manager retries the cleanup until the backend confirms it, or until
/// the lease of the attempt has definitely expired.
#[derive(Debug)]
pub(crate) struct AttemptGuard<'a> {
    pub(crate) attempt: Attempt,
    pub(crate) runtime: Runtime,
    pub(crate) engine: &'a Arc<Engine>,
    is_armed: bool,
    left_traces: bool,
    /// Whether a request has no reply, and may arrive at any time.
    is_unanswered: bool,
    /// A shutdown waits for acquires in progress.
    _under_way: TaskTrackerToken,
}

impl<'a> AttemptGuard<'a> {
    pub(crate) fn new(engine: &'a Arc<Engine>, attempt: Attempt, runtime: Runtime) -> Self {
        Self {
            attempt,
            runtime,
            is_armed: false,
            left_traces: false,
            is_unanswered: false,
            _under_way: engine.unfinished.token(),
            engine,
        }
    }

    /// Sends the request, or a duplicate of it, if the backend can reply immediately. The caller has read `sent` just
    /// before the call.
    pub(crate) fn ask_now(
        &mut self,
        sent: ClockReading,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        self.is_armed = true;
        let backend = self.engine.backend();
        let answer = at_once(|| backend.attempt_now(&self.attempt, sent.instant));
        match &answer {
            Some(answer) => self.record(answer),
            None => self.is_armed = self.left_traces,
        }
        answer
    }

    /// Sends the request, or a duplicate of it, at `sent`.
    pub(crate) async fn ask(
        &mut self,
        sent: ClockReading,
        limit: Duration,
    ) -> Result<AttemptAnswer, BackendError> {
        self.is_armed = true;
        let answer = bounded_since(sent, limit, async {
            self.engine.backend().attempt(&self.attempt).await
        })
        .await;
        self.record(&answer);
        answer
    }

    fn record(&mut self, answer: &Result<AttemptAnswer, BackendError>) {
        match answer {
            Ok(AttemptAnswer::Granted { .. }) => self.left_traces = true,
            Ok(AttemptAnswer::Busy { .. }) => self.left_traces |= self.attempt.queue,
            // The backend has removed the attempt from the queue.
            Ok(AttemptAnswer::Recorded(_)) => self.left_traces = self.is_unanswered,
            Err(error) if error.applied() == Applied::Unknown => {
                (self.left_traces, self.is_unanswered) = (true, true);
            }
            Ok(AttemptAnswer::Refused(_)) | Err(_) => {}
        }
        self.is_armed = self.left_traces;
    }

    /// Returns whether the backend may have, or may later make, a grant for this attempt.
    pub(crate) fn applied(&self) -> Applied {
        if self.left_traces {
            Applied::Unknown
        } else {
            Applied::No
        }
    }

    /// Returns the held lock for a grant that was requested at `sent`, or `None` if the lease of the grant was over at
    /// `now`.
    pub(crate) fn enter(
        &mut self,
        token: FencingToken,
        granted: Duration,
        sent: LeaseInstant,
        now: LeaseInstant,
        options: &AcquireOptions,
    ) -> Option<Result<Hold, Error>> {
        if now >= Lease::deadline(sent, granted) {
            return None;
        }
        let hold = Hold {
            engine: Arc::clone(self.engine),
            lease: Arc::new(Lease::new(
                &self.engine.backend,
                self.attempt.claim(token),
                granted,
                sent,
                options,
                self.runtime.clone(),
            )),
        };
        // From here on, dropping `hold` releases the grant.
        self.is_armed = false;
        self.engine.watch(&hold.lease, now);
        // This check follows `watch`, so either this check detects the shutdown, or the shutdown finds the lease.
        if self.engine.is_closed() {
            return Some(Err(self.closed()));
        }
        Some(Ok(hold))
    }

    pub(crate) fn closed(&self) -> Error {
        Error::Closed {
            key: self.attempt.key.clone(),
        }
    }
}

impl Drop for AttemptGuard<'_> {
    fn drop(&mut self) {
        if !self.is_armed {
            return;
        }
        let (engine, attempt) = (self.engine, &self.attempt);
        let now = ClockReading::now().instant;
        if let Some(Ok(())) = at_once(|| engine.backend().cleanup_now(attempt, now)) {
            events::cleaned_up(attempt);
            return;
        }
        let clean_up = BackgroundCleanup {
            backend: Arc::clone(&engine.backend),
            limit: engine.limits.command,
            attempt: attempt.clone(),
            end: engine.background_end(attempt.ttl),
        };
        let waited_for = engine.unfinished.token();
        engine.backlog.add(&self.runtime, clean_up, waited_for);
    }
}

/// A cleanup that continues in the background.
#[derive(Debug)]
struct BackgroundCleanup {
    backend: Arc<dyn Backend>,
    limit: Duration,
    attempt: Attempt,
    end: LeaseInstant,
}

impl BackgroundWork for BackgroundCleanup {
    fn carry_out(self: Arc<Self>) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async move {
            let attempt = &self.attempt;
            let mut backoff = Backoff::default();
            let command = || async { self.backend.cleanup(attempt).await };
            while let Err(error) = bounded(self.limit, command()).await {
                events::cleanup_failed(attempt, &error);
                // Retry even a permanent error, because an operator may restore a password or a permission.
                if !backoff.pause_before(self.end).await {
                    return false;
                }
            }
            events::cleaned_up(attempt);
            true
        })
    }
}
