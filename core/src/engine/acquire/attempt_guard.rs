//! The guard of an attempt: its cleanup exists before its first byte is sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::backend::{Applied, Attempt, AttemptAnswer, Backend, BackendError};
use crate::clock::{ClockReading, LeaseInstant};
use crate::engine::background_work::BackgroundWork;
use crate::engine::timeout::{Backoff, at_once, bounded, bounded_since};
use crate::engine::{Engine, Hold, Lease};
use crate::options::LockOptions;
use crate::runtime::Runtime;
use crate::{AcquireError, FencingToken, events};

/// An attempt whose cleanup exists before its first byte is sent.
///
/// A backend may apply a request whose answer never arrives, and a caller may drop the future at any
/// point. So the attempt is armed before each sending, and disarmed only by an answer after which
/// there is nothing to undo. Dropped armed, it is cleaned up in the background: repeated until that
/// is confirmed, or until a lock that the attempt may have left has run out by itself.
#[derive(Debug)]
pub(crate) struct AttemptGuard<'a> {
    pub(crate) attempt: Attempt,
    pub(crate) runtime: Runtime,
    pub(crate) engine: &'a Arc<Engine>,
    is_armed: bool,
    left_traces: bool,
    /// A shutdown waits for acquires that are under way.
    _under_way: TaskTrackerToken,
}

impl<'a> AttemptGuard<'a> {
    pub(crate) fn new(engine: &'a Arc<Engine>, attempt: Attempt, runtime: Runtime) -> Self {
        Self {
            attempt,
            runtime,
            is_armed: false,
            left_traces: false,
            _under_way: engine.unfinished.token(),
            engine,
        }
    }

    /// Sends the request, or a further copy of it. Only where the backend has an answer at once; it came when it was
    /// asked.
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

    /// Sends the request, or a further copy of it, at `sent`.
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
        self.left_traces |= match answer {
            Ok(AttemptAnswer::Granted { .. }) => true,
            Ok(AttemptAnswer::Busy { .. }) => self.attempt.queue,
            Ok(AttemptAnswer::Refused(_)) => false,
            Err(error) => error.applied() == Applied::Unknown,
        };
        self.is_armed = self.left_traces;
    }

    /// Whether the backend may have, or come to have, a grant for this attempt.
    pub(crate) fn applied(&self) -> Applied {
        if self.left_traces {
            Applied::Unknown
        } else {
            Applied::No
        }
    }

    /// The hold of what was granted to the request that was sent at `sent`; nothing if that was over at `now`.
    pub(crate) fn enter(
        &mut self,
        token: FencingToken,
        granted: Duration,
        sent: LeaseInstant,
        now: LeaseInstant,
        options: &LockOptions,
    ) -> Option<Result<Hold, AcquireError>> {
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
        // The grant is the hold's to release from here on.
        self.is_armed = false;
        self.engine.watch(&hold.lease, now);
        // Looked at after `watch`: either this sees the shutdown, or the shutdown sees the lease.
        if self.engine.is_closed() {
            return Some(Err(self.closed()));
        }
        Some(Ok(hold))
    }

    pub(crate) fn closed(&self) -> AcquireError {
        AcquireError::Closed {
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

/// A cleanup that goes on in the background.
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
                // A password or a right that was taken away may be given back.
                if !backoff.pause_before(self.end).await {
                    return false;
                }
            }
            events::cleaned_up(attempt);
            true
        })
    }
}
