//! The loop of an acquire that waits: attempts, notifications and polls until the wait is over.

use std::convert::Infallible;
use std::future::pending;
use std::panic::Location;
use std::time::Duration;

use super::attempt_guard::AttemptGuard;
use crate::backend::{AttemptAnswer, BackendError, Mode, Refusal};
use crate::clock::{self, ClockReading, LeaseInstant};
use crate::engine::backend_call_timeout::catch_panic;
use crate::engine::retry_backoff::Backoff;
use crate::engine::{AcquireRequest, BusyPolicy, Hold, NotAcquired};
use crate::events;
use crate::options::AcquireOptions;
use crate::{Error, Operation};

/// A notification that arrives sooner counts as immediate.
const PROMPT: Duration = Duration::from_millis(1);

/// The number of consecutive immediate notifications that the loop accepts, because quick hand-offs cause such
/// notifications. More notifications count as noise.
const HASTY_AT_MOST: u32 = 16;

/// After this wait, the loop checks whether its own manager holds the lock.
const UNTIL_OWN_HOLD_IS_REPORTED: Duration = Duration::from_secs(2);

/// The state of one acquire that was not granted in its first step, over all its attempts.
pub(crate) struct AcquireLoop<'a> {
    attempt_guard: AttemptGuard<'a>,
    options: &'a AcquireOptions,
    busy_policy: BusyPolicy,
    started: LeaseInstant,
    /// When the first request was sent; stored so that the clock is not read twice.
    first: Option<ClockReading>,
    /// The reply to the first request, if it was immediate.
    first_answer: Option<Result<AttemptAnswer, BackendError>>,
    give_up: Option<LeaseInstant>,
    /// When to check whether this manager holds the lock; `None` after the check. A candidate expects a long wait.
    reports_own_hold: Option<LeaseInstant>,
    failing_since: Option<LeaseInstant>,
    backoff: Backoff,
    poll: Backoff,
    /// The number of consecutive immediate notifications without a grant.
    spurious_wakeups: u32,
}

impl<'a> AcquireLoop<'a> {
    pub(crate) fn new(
        attempt_guard: AttemptGuard<'a>,
        first_answer: Option<Result<AttemptAnswer, BackendError>>,
        options: &'a AcquireOptions,
        busy_policy: BusyPolicy,
        started: ClockReading,
    ) -> Self {
        Self {
            attempt_guard,
            options,
            busy_policy,
            started: started.moment,
            first: Some(started),
            first_answer,
            give_up: options.wait.map(|wait| started.moment.after(wait)),
            reports_own_hold: (!options.outlasts_outages)
                .then(|| started.moment.after(UNTIL_OWN_HOLD_IS_REPORTED)),
            failing_since: None,
            backoff: Backoff::default(),
            poll: Backoff::default(),
            spurious_wakeups: 0,
        }
    }

    /// Retries one request under one id until the backend grants it or it cannot succeed. If a grant arrives after the
    /// end of its lease, the acquire continues with a new id.
    pub(crate) async fn run(&mut self, wanted: &AcquireRequest) -> Result<Hold, NotAcquired> {
        loop {
            if self.attempt_guard.engine.is_closed() {
                return Err(NotAcquired::Failed(self.attempt_guard.closed()));
            }
            let look = self.first.take().unwrap_or_else(ClockReading::now);
            let answer = match self.first_answer.take() {
                Some(answer) => answer,
                None => {
                    let limit = self
                        .attempt_guard
                        .engine
                        .limits
                        .command
                        .min(self.options.ttl);
                    self.attempt_guard.ask(look, limit).await
                }
            };
            let sent = look.moment;
            match answer {
                Ok(AttemptAnswer::Granted { token, lease }) => {
                    let now = LeaseInstant::now();
                    if let Some(hold) =
                        self.attempt_guard
                            .enter(token, lease, sent, now, self.options)
                    {
                        return hold.map_err(NotAcquired::Failed);
                    }
                    let late = BackendError::unknown("its grant came after the end of the lease");
                    let failed = Box::pin(self.failed(sent, late)).await;
                    failed.map_err(NotAcquired::Failed)?;
                    self.begin_another(wanted);
                }
                Ok(AttemptAnswer::Busy { .. }) if self.busy_policy == BusyPolicy::None => {
                    return Err(NotAcquired::Failed(self.timed_out(None)));
                }
                Ok(AttemptAnswer::Busy { retry_after }) => {
                    self.failing_since = None;
                    self.backoff = Backoff::default();
                    // Box this future, so that the outer future is cheap to move. An acquire of a free lock does not
                    // need this future.
                    let waited = Box::pin(self.wait(sent.after(retry_after.max(PROMPT)))).await;
                    waited.map_err(NotAcquired::Failed)?;
                }
                Ok(AttemptAnswer::Refused(refusal)) => {
                    return Err(NotAcquired::Failed(self.refused(refusal)));
                }
                Ok(AttemptAnswer::Recorded(outcome)) => {
                    let key = self.attempt_guard.attempt.key.clone();
                    return Err(NotAcquired::Recorded { key, outcome });
                }
                Err(error) => Box::pin(self.failed(sent, error))
                    .await
                    .map_err(NotAcquired::Failed)?,
            }
        }
    }

    fn begin_another(&mut self, wanted: &AcquireRequest) {
        let AttemptGuard {
            engine, runtime, ..
        } = &self.attempt_guard;
        let (engine, runtime) = (*engine, runtime.clone());
        let attempt = wanted.attempt(engine, self.options, self.busy_policy);
        self.attempt_guard = AttemptGuard::new(engine, attempt, runtime);
    }

    /// Waits for a notification that the lock may be free, at most until `recheck`.
    async fn wait(&mut self, recheck: LeaseInstant) -> Result<(), Error> {
        let until = self.give_up.map_or(recheck, |give_up| give_up.min(recheck));
        let engine = self.attempt_guard.engine;
        // If the reply came late, a notification would cause another request, and that one perhaps another.
        self.check_wait()?;
        let waiting_since = LeaseInstant::now();
        let hint = async {
            let attempt = &self.attempt_guard.attempt;
            let hint = catch_panic(async { engine.backend().wait(attempt).await }).await;
            if let Err(error) = &hint {
                events::wait_failed(attempt, error);
            }
            let prompt = LeaseInstant::now().since(waiting_since) < PROMPT;
            self.spurious_wakeups = if prompt { self.spurious_wakeups + 1 } else { 0 };
            if hint.is_err() || self.spurious_wakeups > HASTY_AT_MOST {
                // The loop polls if there are no notifications, or too many.
                self.poll.pause().await;
            } else {
                self.poll = Backoff::default();
            }
        };
        let own_hold = async {
            clock::at(self.reports_own_hold).await;
            self.reports_own_hold = None;
            let attempt = &self.attempt_guard.attempt;
            if let Some(acquired_at) = engine.own_hold(&attempt.key) {
                events::held_by_same_manager(attempt, acquired_at);
            }
            pending::<Infallible>().await
        };
        tokio::select! {
            // In order, so that a run with paused time can be repeated exactly.
            biased;
            () = hint => Ok(()),
            () = engine.closed() => Err(self.attempt_guard.closed()),
            // The holder's runtime may have ended before its release. This task then continues the release.
            never = engine.backlog.keep_adopting() => match never {},
            never = own_hold => match never {},
            () = clock::sleep_until(until) => self.check_wait(),
        }
    }

    /// Returns an error if the wait is over.
    fn check_wait(&self) -> Result<(), Error> {
        match self.give_up {
            Some(give_up) if give_up.has_passed() => {
                let AttemptGuard {
                    engine, attempt, ..
                } = &self.attempt_guard;
                Err(self.timed_out(engine.own_hold(&attempt.key)))
            }
            _ => Ok(()),
        }
    }

    fn timed_out(&self, acquired_at: Option<&'static Location<'static>>) -> Error {
        Error::TimedOut {
            key: self.attempt_guard.attempt.key.clone(),
            waited: LeaseInstant::now().since(self.started),
            holder: None,
            acquired_at,
        }
    }

    fn refused(&self, refusal: Refusal) -> Error {
        let key = self.attempt_guard.attempt.key.clone();
        match refusal {
            Refusal::OtherKind => Error::OtherKind {
                key,
                used_as: match self.attempt_guard.attempt.mode {
                    Mode::Permits { .. } => "a lock",
                    Mode::Exclusive | Mode::Shared => "a semaphore",
                },
            },
            Refusal::HandoverSpent => Error::HandoverSpent { key },
        }
    }

    /// Pauses before another retry, or returns an error: only a campaign waits forever for the end of an outage.
    async fn failed(&mut self, sent: LeaseInstant, error: BackendError) -> Result<(), Error> {
        let attempt_guard = &self.attempt_guard;
        events::attempt_failed(&attempt_guard.attempt, &error);
        let since = *self.failing_since.get_or_insert(sent);
        let outage_ends = since.after(match self.options.outlasts_outages {
            true => Duration::MAX,
            false => attempt_guard.engine.limits.outage,
        });
        let end = match (self.busy_policy, self.give_up) {
            (BusyPolicy::None, _) => sent,
            (BusyPolicy::Wait, Some(give_up)) => give_up.min(outage_ends),
            (BusyPolicy::Wait, None) => outage_ends,
        };
        let paused = self.backoff.pause_after(error, end).await;
        paused.map_err(|source| Error::Backend {
            operation: Operation::Acquire,
            key: attempt_guard.attempt.key.clone(),
            applied: attempt_guard.applied(),
            source,
        })
    }
}
