//! Acquires a lock: one attempt, then the acquire loop if it has to wait.

pub(crate) mod acquire_failure;
pub(crate) mod acquire_loop;
pub(crate) mod acquire_request;
pub(crate) mod attempt_guard;
pub(crate) mod busy_policy;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tracing::Instrument;

use super::{AcquireRequest, BusyPolicy, Engine, Hold, NotAcquired, bounded};
use crate::Error;
use crate::backend::AttemptAnswer;
use crate::clock::ClockReading;
use crate::events::Acquisition;
use crate::options::AcquireOptions;
use crate::runtime::Runtime;
use acquire_loop::AcquireLoop;
use attempt_guard::AttemptGuard;

impl Engine {
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        wanted: &AcquireRequest,
        options: &AcquireOptions,
        busy_policy: BusyPolicy,
    ) -> Result<Hold, NotAcquired> {
        let started = ClockReading::now();
        let acquisition = Acquisition::start(&wanted.key, self.label, options, started.moment);
        let span = acquisition.span();
        let result = match span.in_scope(|| self.begin(wanted, options, busy_policy, started)) {
            FirstStep::Over(result) => result,
            FirstStep::Wait(search) => search.instrument(span).await,
        };
        match &result {
            Ok(hold) => acquisition.finish(Some(&hold.lease.claim), "acquired"),
            Err(reason) => acquisition.finish(None, reason.as_str()),
        }
        result
    }

    /// Adds the current holder to the error of an acquire that timed out, if the backend reports the holder in time. The
    /// last request of the acquire and this one share one command timeout.
    pub(crate) async fn name_holder(&self, mut error: Error, wait: Option<Duration>) -> Error {
        if let Error::TimedOut {
            key,
            waited,
            holder,
            ..
        } = &mut error
        {
            let end = wait.unwrap_or(*waited).saturating_add(self.limits.command);
            let left = end.saturating_sub(*waited);
            if let Ok(seen) = bounded(left, self.backend().inspect(key)).await
                && let Some(first) = seen.held_by.into_iter().next()
            {
                *holder = Some(first.label.unwrap_or(first.id).into());
            }
        }
        error
    }

    /// Runs the first step. If the backend grants immediately, the loop is not created.
    fn begin<'a>(
        self: &'a Arc<Self>,
        wanted: &'a AcquireRequest,
        options: &'a AcquireOptions,
        busy_policy: BusyPolicy,
        started: ClockReading,
    ) -> FirstStep<'a> {
        let Some(runtime) = Runtime::current() else {
            return FirstStep::Over(Err(NotAcquired::Failed(Error::NoRuntime)));
        };
        self.backlog.adopt_orphans();
        let attempt = wanted.attempt(self, options, busy_policy);
        let mut attempt_guard = AttemptGuard::new(self, attempt, runtime);
        if self.is_closed() {
            return FirstStep::Over(Err(NotAcquired::Failed(attempt_guard.closed())));
        }
        let (sent, answer) = (started.moment, attempt_guard.ask_now(started));
        // An immediate reply takes no time that counts, so the clock is not read again.
        if let Some(Ok(AttemptAnswer::Granted { token, lease })) = answer
            && let Some(hold) = attempt_guard.enter(token, lease, sent, sent, options)
        {
            return FirstStep::Over(hold.map_err(NotAcquired::Failed));
        }
        let mut search = AcquireLoop::new(attempt_guard, answer, options, busy_policy, started);
        // The block owns the loop. As an argument of an async function, the loop would be in the future twice.
        FirstStep::Wait(Box::pin(async move { search.run(wanted).await }))
    }
}

/// How an acquire continues after its first step.
enum FirstStep<'a> {
    Over(Result<Hold, NotAcquired>),
    /// Boxed, so that the future of an acquire is cheap to move.
    Wait(BoxFuture<'a, Result<Hold, NotAcquired>>),
}
