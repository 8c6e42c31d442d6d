use std::time::Duration;

use super::armed::Armed;
use super::call::{Backoff, caught};
use super::{Hold, Patience, Wanted};
use crate::AcquireError;
use crate::backend::{AttemptAnswer, BackendError, Refusal};
use crate::clock::{self, Look, Moment};
use crate::observe;
use crate::options::LockOptions;

/// A wait that ends sooner has hardly been one.
const PROMPT: Duration = Duration::from_millis(1);

/// How many wake-ups in a row may come at once before they are taken for noise. Locks that are handed on
/// quickly do wake like this.
const HASTY_AT_MOST: u32 = 16;

/// One caller's acquire that its first step has not ended, over all its attempts.
pub(super) struct Search<'a> {
    armed: Armed<'a>,
    options: &'a LockOptions,
    patience: Patience,
    started: Moment,
    /// When the first request is sent; it is not read from the clock twice.
    first: Option<Look>,
    /// What it was answered, if at once.
    first_answer: Option<Result<AttemptAnswer, BackendError>>,
    give_up: Option<Moment>,
    failing_since: Option<Moment>,
    backoff: Backoff,
    poll: Backoff,
    /// Wake-ups in a row that came at once and meant nothing.
    hasty: u32,
}

/// How the pursuit of one attempt ended, if not in an error.
enum Pursuit {
    Granted(Hold),
    /// The grant's answer came when its lease was over, and its id is spent.
    Outlived,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        armed: Armed<'a>,
        first_answer: Option<Result<AttemptAnswer, BackendError>>,
        options: &'a LockOptions,
        patience: Patience,
        started: Look,
    ) -> Self {
        Self {
            armed,
            options,
            patience,
            started: started.moment,
            first: Some(started),
            first_answer,
            give_up: options.wait.map(|wait| started.moment.after(wait)),
            failing_since: None,
            backoff: Backoff::default(),
            poll: Backoff::default(),
            hasty: 0,
        }
    }

    pub(super) async fn run(&mut self, wanted: &Wanted) -> Result<Hold, AcquireError> {
        loop {
            if let Pursuit::Granted(hold) = self.pursue().await? {
                return Ok(hold);
            }
            let (engine, runtime) = (self.armed.engine, self.armed.runtime.clone());
            let attempt = wanted.attempt(engine, self.options, self.patience);
            self.armed = Armed::new(engine, attempt, runtime);
        }
    }

    /// Repeats one request under one id until it is granted or there is no point.
    async fn pursue(&mut self) -> Result<Pursuit, AcquireError> {
        loop {
            if self.armed.engine.is_closed() {
                return Err(self.armed.closed());
            }
            let look = self.first.take().unwrap_or_else(Look::now);
            let answer = match self.first_answer.take() {
                Some(answer) => answer,
                None => {
                    let limit = self.armed.engine.limits.command.min(self.options.ttl);
                    self.armed.ask(look, limit).await
                }
            };
            let sent = look.moment;
            match answer {
                Ok(AttemptAnswer::Granted { token, lease }) => {
                    let now = Moment::now();
                    if let Some(hold) = self.armed.enter(token, lease, sent, now, self.options) {
                        return hold.map(Pursuit::Granted);
                    }
                    let late = BackendError::unknown("its grant came when the lease was over");
                    Box::pin(self.failed(sent, late)).await?;
                    return Ok(Pursuit::Outlived);
                }
                Ok(AttemptAnswer::Busy { .. }) if self.patience == Patience::None => {
                    return Err(self.timed_out());
                }
                Ok(AttemptAnswer::Busy { retry_after }) => {
                    self.failing_since = None;
                    self.backoff = Backoff::default();
                    // Boxed, as is all that a free lock does not need: its future is moved about.
                    Box::pin(self.wait(sent.after(retry_after.max(PROMPT)))).await?;
                }
                Ok(AttemptAnswer::Refused(refusal)) => return Err(self.refused(refusal)),
                Err(error) => Box::pin(self.failed(sent, error)).await?,
            }
        }
    }

    /// Waits for a hint that the lock may be ours, and no longer than until `recheck`.
    async fn wait(&mut self, recheck: Moment) -> Result<(), AcquireError> {
        let until = self.give_up.map_or(recheck, |give_up| give_up.min(recheck));
        let engine = self.armed.engine;
        let waiting_since = Moment::now();
        let hint = async {
            let attempt = &self.armed.attempt;
            let hint = caught(async { engine.backend.wait(attempt).await }).await;
            if let Err(error) = &hint {
                observe::wait_failed(attempt, error);
            }
            let prompt = Moment::now().since(waiting_since) < PROMPT;
            self.hasty = if prompt { self.hasty + 1 } else { 0 };
            if hint.is_err() || self.hasty > HASTY_AT_MOST {
                // No wake-ups, or nothing but wake-ups: both are polling.
                self.poll.pause().await;
            } else {
                self.poll = Backoff::default();
            }
        };
        tokio::select! {
            () = hint => Ok(()),
            () = engine.closed() => Err(self.armed.closed()),
            // Whoever vanished with its runtime may be who this one waits for.
            never = engine.backlog.keep_adopting() => match never {},
            () = clock::sleep_until(until) => match self.give_up {
                Some(give_up) if give_up.has_passed() => Err(self.timed_out()),
                _ => Ok(()),
            },
        }
    }

    fn timed_out(&self) -> AcquireError {
        AcquireError::TimedOut {
            key: self.armed.attempt.key.clone(),
            waited: Moment::now().since(self.started),
        }
    }

    fn refused(&self, refusal: Refusal) -> AcquireError {
        let key = self.armed.attempt.key.clone();
        match refusal {
            Refusal::OtherKind => AcquireError::OtherKind { key },
            Refusal::HandoverSpent => AcquireError::HandoverSpent { key },
        }
    }

    /// Pauses before another try, or says that there is none: an outage is not waited out for ever.
    async fn failed(&mut self, sent: Moment, error: BackendError) -> Result<(), AcquireError> {
        let armed = &self.armed;
        observe::attempt_failed(&armed.attempt, &error);
        let since = *self.failing_since.get_or_insert(sent);
        let outage_ends = since.after(armed.engine.limits.outage);
        let end = match (self.patience, self.give_up) {
            (Patience::None, _) => sent,
            (Patience::Wait, Some(give_up)) => give_up.min(outage_ends),
            (Patience::Wait, None) => outage_ends,
        };
        let paused = self.backoff.pause_after(error, end).await;
        paused.map_err(|source| AcquireError::Backend {
            key: armed.attempt.key.clone(),
            applied: armed.applied(),
            source,
        })
    }
}
